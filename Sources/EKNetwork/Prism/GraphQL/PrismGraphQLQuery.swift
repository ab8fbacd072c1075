/// A GraphQL operation: a document, and what is put into it.
public struct PrismGraphQLQuery: Sendable {
  /// The document.
  public let query: String
  /// The values of its variables, if they were given one by one.
  public let variables: [String: any Sendable]?
  /// Which of the document's operations is meant; `nil` where it has one.
  public let operationName: String?
  /// The values of its variables, if they are a value of one type.
  let encodableVariables: (any Encodable & Sendable)?

  /// An operation.
  ///
  /// - Parameters:
  ///   - query: The document.
  ///   - variables: Anything `Encodable`, arrays and dictionaries of such values, nested as needed, and `NSNull`.
  ///     Another value is an error when the operation is sent. Defaults to `nil`.
  ///   - operationName: Which of the document's operations is meant. Defaults to `nil`.
  public init(query: String, variables: [String: any Sendable]? = nil, operationName: String? = nil) {
    self.query = query
    self.variables = variables
    self.operationName = operationName
    encodableVariables = nil
  }

  /// An operation whose variables are the properties of a value.
  ///
  /// - Parameters:
  ///   - query: The document.
  ///   - encoding: Encodes to a JSON object with a member for each variable.
  ///   - operationName: Which of the document's operations is meant. Defaults to `nil`.
  public init(query: String, encoding: some Encodable & Sendable, operationName: String? = nil) {
    self.query = query
    variables = nil
    self.operationName = operationName
    encodableVariables = encoding
  }
}
