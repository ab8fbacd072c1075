import Foundation

/// A response outside 2xx, with everything that the server said.
public struct HTTPError: LocalizedError, Sendable, Equatable {
  /// The status code.
  public let statusCode: Int
  /// The body, as it came.
  public let data: Data
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]

  /// An error as the library would throw it, for tests.
  public init(statusCode: Int, data: Data, headers: [String: String]) {
    self.statusCode = statusCode
    self.data = data
    self.headers = headers
  }

  /// The same with the fields as `HTTPURLResponse.allHeaderFields` has them.
  @_disfavoredOverload
  public init(statusCode: Int, data: Data, headers: [AnyHashable: Any]) {
    self.init(statusCode: statusCode, data: data, headers: [String: String](headerFields: headers))
  }

  /// `"Request failed with status code …"`.
  public var errorDescription: String? {
    "Request failed with status code \(statusCode)"
  }

  /// The value of a header field, whatever the case of its name.
  public func value(forHTTPHeaderField name: String) -> String? {
    headers.field(name)
  }
}
