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
