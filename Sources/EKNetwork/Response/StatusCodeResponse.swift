import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The response of a request whose result is in the status and the header fields. A body is ignored.
public struct StatusCodeResponse: Decodable, Equatable, Sendable {
  /// The status code.
  public let statusCode: Int
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]

  /// A response as the library would make it, for tests.
  public init(statusCode: Int, headers: [String: String]) {
    self.statusCode = statusCode
    self.headers = headers
  }

  init(_ response: HTTPURLResponse) {
    self.init(statusCode: response.statusCode, headers: response.headerDictionary)
  }
}

extension HTTPURLResponse {
  /// The header fields as the library hands them out.
  var headerDictionary: [String: String] {
    var headers: [String: String] = [:]
    headers.reserveCapacity(allHeaderFields.count)
    for (name, value) in allHeaderFields {
      if let name = name as? String { headers[name] = value as? String ?? "\(value)" }
    }
    return headers
  }
}
