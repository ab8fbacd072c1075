/// An error of a GraphQL response (§7.1.2 of the specification).
public struct PrismGraphQLError: Error, Decodable, Sendable, Equatable {
  /// A description of the error, intended for developers.
  public let message: String
  /// The locations in the document.
  public let locations: [PrismGraphQLErrorLocation]?
  /// The path to the field of the response, each element as text. ``pathElements`` distinguishes names from list
  /// indices.
  public let path: [String]?
  /// The path to the field of the response.
  public let pathElements: [PrismGraphQLPathElement]?
  /// Additional information from the server, often a `code`.
  public let extensions: [String: PrismGraphQLValue]?

  /// Creates an error as a server would send it, for tests.
  public init(
    message: String, locations: [PrismGraphQLErrorLocation]? = nil, path: [String]? = nil,
    extensions: [String: PrismGraphQLValue]? = nil
  ) {
    self.message = message
    self.locations = locations
    self.path = path
    pathElements = path?.map { .field($0) }
    self.extensions = extensions
  }

  private enum Key: CodingKey {
    case message, locations, path, extensions
  }

  /// Decodes an error. Members that do not follow the specification are left out, so that no error is lost because of
  /// its form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    message = (try? container.decode(String.self, forKey: .message)) ?? ""
    locations = try? container.decode([PrismGraphQLErrorLocation].self, forKey: .locations)
    pathElements = try? container.decode([PrismGraphQLPathElement].self, forKey: .path)
    path = pathElements?.map(\.description)
    extensions = try? container.decode([String: PrismGraphQLValue].self, forKey: .extensions)
  }
}

/// A location in a GraphQL document.
public struct PrismGraphQLErrorLocation: Decodable, Sendable, Equatable {
  /// The line number, starting at 1.
  public let line: Int
  /// The column number, starting at 1.
  public let column: Int

  /// Creates a location as a server would send it, for tests.
  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }
}

/// An element of the path to a field of a GraphQL response.
public enum PrismGraphQLPathElement: Decodable, Sendable, Hashable, CustomStringConvertible {
  /// The name of a field, or its alias.
  case field(String)
  /// The index in a list, starting at 0.
  case index(Int)

  /// Decodes a name or a number.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let index = try? container.decode(Int.self) {
      self = .index(index)
    } else {
      self = .field(try container.decode(String.self))
    }
  }

  /// The name, or the number as text.
  public var description: String {
    switch self {
    case .field(let name): name
    case .index(let index): String(index)
    }
  }
}
