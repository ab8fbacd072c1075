/// A response that precedes the final one (RFC 9110 §15.2), such as 100 or 103, whose `Link` fields name what the final one
/// will need (RFC 8297).
public struct InterimResponse: Sendable, Equatable {
  /// The status code, from 100 to 199.
  public let statusCode: Int
  /// The header fields.
  public let headerFields: HeaderFieldList

  /// Creates a response as the library passes it on, for tests.
  public init(statusCode: Int, headerFields: HeaderFieldList = HeaderFieldList()) {
    self.statusCode = statusCode
    self.headerFields = headerFields
  }

  /// Returns all values of a field, in order; names are case-insensitive.
  public func values(for name: String) -> [String] { headerFields.values(for: name) }
}
