/// An error of a GraphQL response (§7.1.2 of the specification).
public struct PrismGraphQLError: Error, Decodable, Sendable, Equatable {
  /// What went wrong, for a developer.
  public let message: String
  /// Where in the document.
  public let locations: [PrismGraphQLErrorLocation]?
  /// Which field of the response, each element as text. ``pathElements`` tells names from places in a list.
  public let path: [String]?
  /// Which field of the response.
  public let pathElements: [PrismGraphQLPathElement]?
  /// What else the server says: often a `code`.
  public let extensions: [String: PrismGraphQLValue]?

  /// An error as a server would send it, for tests.
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

  /// Reads an error. What is not as the specification has it is left out, so that no error is lost for its form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    message = (try? container.decode(String.self, forKey: .message)) ?? ""
    locations = try? container.decode([PrismGraphQLErrorLocation].self, forKey: .locations)
    pathElements = try? container.decode([PrismGraphQLPathElement].self, forKey: .path)
    path = pathElements?.map(\.description)
    extensions = try? container.decode([String: PrismGraphQLValue].self, forKey: .extensions)
  }
}

/// A place in a GraphQL document.
public struct PrismGraphQLErrorLocation: Decodable, Sendable, Equatable {
  /// From 1.
  public let line: Int
  /// From 1.
  public let column: Int

  /// A location as a server would send it, for tests.
  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }
}

/// A step on the way to a field of a GraphQL response.
public enum PrismGraphQLPathElement: Decodable, Sendable, Hashable, CustomStringConvertible {
  /// The name of a field, or its alias.
  case field(String)
  /// A place in a list, from 0.
  case index(Int)

  /// Reads a name or a number.
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
