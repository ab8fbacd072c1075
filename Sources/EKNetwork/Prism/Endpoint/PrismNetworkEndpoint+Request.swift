import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension PrismNetworkEndpoint {
  /// The URL that scheme, host, port, path and query items make.
  ///
  /// Throws ``PrismNetworkError/invalidURL`` where they make none.
  public var url: URL {
    get throws { try PrismNetworkFailure.surfacing { try EndpointURL.make(of: self) } }
  }

  /// The request as it is sent.
  ///
  /// Throws ``PrismNetworkError/invalidURL``, or ``PrismNetworkError/badRequest`` for a header field that RFC 9110
  /// forbids and for a body that cannot be encoded.
  public var request: URLRequest {
    get throws { try PrismNetworkFailure.surfacing { try makeRequest() } }
  }

  /// Writes method, URL and the names of the header fields to the log. The values of header fields and query items
  /// are left out, and so is the body: they may be secret.
  public func log() {
    let target = (try? EndpointURL.make(of: self).redactedForLog) ?? "<invalid URL>"
    let names = headers.keys.sorted().joined(separator: ", ")
    DeveloperLog.write("\(method.rawValue) \(target)" + (names.isEmpty ? "" : " [\(names)]"))
  }

  /// What `request` is, with its reasons for failing.
  func makeRequest() throws -> URLRequest {
    let url = try EndpointURL.make(of: self)
    var request = URLRequest(url: url)
    request.httpMethod = method.rawValue
    do {
      var fields = try HeaderFields(headers).fields
      if let body {
        let payload = try EndpointBody(body)
        if fields.field("Content-Type") == nil { fields["Content-Type"] = payload.contentType }
        request.httpBody = payload.data
      }
      // All at once: the setter for one field drops what it does not like without a word on some platforms.
      request.allHTTPHeaderFields = fields
    } catch {
      throw PrismNetworkFailure(.badRequest, because: error, url: url)
    }
    if let timeoutInterval, Duration(timeInterval: timeoutInterval) != nil { request.timeoutInterval = timeoutInterval }
    return request
  }
}
