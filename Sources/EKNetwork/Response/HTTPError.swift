import Foundation

/// An error for a response outside 2xx, with its status code, header fields and body.
public struct HTTPError: LocalizedError, Sendable, Equatable {
  /// The status code.
  public let statusCode: Int
  /// The body, as received.
  public let data: Data
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]

  /// Creates an error as the library would throw it, for tests.
  public init(statusCode: Int, data: Data, headers: [String: String]) {
    self.statusCode = statusCode
    self.data = data
    self.headers = headers
  }

  /// Creates an error with header fields as in `HTTPURLResponse.allHeaderFields`.
  @_disfavoredOverload
  public init(statusCode: Int, data: Data, headers: [AnyHashable: Any]) {
    self.init(statusCode: statusCode, data: data, headers: [String: String](headerFields: headers))
  }

  /// `"Request failed with status code …"`.
  public var errorDescription: String? {
    "Request failed with status code \(statusCode)"
  }

  /// Returns the value of a header field; names are case-insensitive.
  public func value(forHTTPHeaderField name: String) -> String? {
    headers.field(name)
  }
}
