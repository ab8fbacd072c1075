import Foundation

/// A GraphQL operation: a document and its variables.
public struct PrismGraphQLQuery: Sendable {
  /// The document.
  public let query: String
  /// The variables, if they were given as a dictionary.
  public let variables: [String: any Sendable]?
  /// The name of the operation to run; `nil` if the document has only one.
  public let operationName: String?
  /// The variables, if they were given as one encodable value.
  let encodableVariables: (any Encodable & Sendable)?

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - query: The document.
  ///   - variables: `Encodable` values, arrays and dictionaries of such values, nested as needed, and `NSNull`. Any
  ///     other value is an error when the operation is sent. Defaults to `nil`.
  ///   - operationName: The name of the operation to run, for a document with several. Defaults to `nil`.
  public init(query: String, variables: [String: any Sendable]? = nil, operationName: String? = nil) {
    self.query = query
    self.variables = variables
    self.operationName = operationName
    encodableVariables = nil
  }

  /// Creates an operation whose variables are the properties of a value.
  ///
  /// - Parameters:
  ///   - query: The document.
  ///   - encoding: A value that encodes to a JSON object with a member for each variable.
  ///   - operationName: The name of the operation to run, for a document with several. Defaults to `nil`.
  public init(query: String, encoding: some Encodable & Sendable, operationName: String? = nil) {
    self.query = query
    variables = nil
    self.operationName = operationName
    encodableVariables = encoding
  }
}

/// The response of a GraphQL server to an operation: data, errors, or both (§7.1 of the specification).
public struct PrismGraphQLResponse<T: Decodable & Sendable>: Sendable {
  /// The data; `nil` if the operation returned none. If there are errors, it may be partial: the fields that failed are
  /// `null`, which `T` has to allow. If `T` does not allow it, this is `nil`, and the errors tell why.
  public let data: T?
  /// The errors, if any.
  public let errors: [PrismGraphQLError]?
  /// Additional information from the server.
  public let extensions: [String: PrismGraphQLValue]?
  /// Whether there is an entry for the data, which may be `null`.
  let hasDataEntry: Bool
  /// Whether there is data, even if it is not a `T`.
  let hasData: Bool

  /// Creates a response as a server would send it, for tests.
  public init(data: T? = nil, errors: [PrismGraphQLError]? = nil, extensions: [String: PrismGraphQLValue]? = nil) {
    self.data = data
    self.errors = errors
    self.extensions = extensions
    hasDataEntry = data != nil
    hasData = data != nil
  }
}

extension PrismGraphQLResponse: Decodable {
  private enum Key: CodingKey { case data, errors, extensions }

  /// Decodes a response. Throws for one with neither data nor errors, and if `data` is not a `T` and there is no error.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    errors = try container.decodeIfPresent([PrismGraphQLError].self, forKey: .errors)
    extensions = try? container.decode([String: PrismGraphQLValue].self, forKey: .extensions)
    let hasErrors = errors?.isEmpty == false
    hasDataEntry = container.contains(.data)
    hasData = hasDataEntry && (try? container.decodeNil(forKey: .data)) != true
    guard hasDataEntry || hasErrors else {
      throw DecodingError.keyNotFound(
        Key.data, DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "Neither data nor errors."))
    }
    do {
      data = try container.decodeIfPresent(T.self, forKey: .data)
    } catch {
      guard hasErrors else { throw error }
      data = nil
    }
  }
}

/// An error of a GraphQL response (§7.1.2 of the specification).
public struct PrismGraphQLError: Error, ClassifiedError, Decodable, Sendable, Equatable {
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

  var failureKind: FailureKind { .unclear }

  private enum Key: CodingKey { case message, locations, path, extensions }

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
