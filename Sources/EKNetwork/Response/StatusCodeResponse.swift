import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The response of a request whose result is in the status code and the header fields. Any body is ignored.
public struct StatusCodeResponse: DiscardableResponse, Decodable, ResponseHeaderFields, Equatable, Sendable {
  /// The status code.
  public let statusCode: Int
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]
  private var received = ReceivedFields()

  /// Creates a response as the library would make it, for tests.
  public init(statusCode: Int, headers: [String: String]) {
    self.statusCode = statusCode
    self.headers = headers
  }

  /// Creates a response with header fields as in `HTTPURLResponse.allHeaderFields`.
  @_disfavoredOverload
  public init(statusCode: Int, headers: [AnyHashable: Any]) {
    self.init(statusCode: statusCode, headers: [String: String](headerFields: headers))
  }

  /// Returns the value of a header field; names are case-insensitive.
  public func value(forHTTPHeaderField name: String) -> String? { headers.field(name) }

  private enum CodingKeys: String, CodingKey {
    case statusCode, headers
  }

  /// Decodes `{"statusCode": 204}`, with or without `headers`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    statusCode = try container.decode(Int.self, forKey: .statusCode)
    headers = try container.decodeIfPresent([String: String].self, forKey: .headers) ?? [:]
  }

  init(_ response: HTTPURLResponse) {
    self.init(statusCode: response.statusCode, headers: response.headerDictionary)
    received = ReceivedFields(response)
  }

  /// The header fields in order, repeated ones separate if they were received so.
  public var headerFields: HeaderFieldList { received.list(or: headers) }
}

extension HTTPURLResponse {
  /// The header fields in the form that the library returns.
  var headerDictionary: [String: String] {
    [String: String](headerFields: allHeaderFields)
  }
}

extension [String: String] {
  /// Creates header fields from Foundation's untyped dictionary.
  init(headerFields: [AnyHashable: Any]) {
    self.init(minimumCapacity: headerFields.count)
    for (name, value) in headerFields {
      if let name = name as? String { self[name] = value as? String ?? "\(value)" }
    }
  }
}
