import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension PrismNetworkEndpoint {
  /// The URL built from scheme, host, port, path and query items.
  ///
  /// Throws ``PrismNetworkError/invalidURL`` if they do not form a valid URL.
  public var url: URL {
    get throws { try PrismNetworkFailure.surfacing { try EndpointURL.make(of: self) } }
  }

  /// The request as it is sent.
  ///
  /// Its `cachePolicy` is for a session of your own: `.returnCacheDataElseLoad` for a GET with a `cacheInterval`,
  /// otherwise `.reloadIgnoringLocalCacheData`. A ``PrismNetworkAdapter`` decides by the interval itself.
  ///
  /// Throws ``PrismNetworkError/invalidURL``, or ``PrismNetworkError/badRequest`` for a header field that RFC 9110
  /// forbids and for a body that cannot be encoded.
  public var request: URLRequest {
    get throws {
      var request = try PrismNetworkFailure.surfacing { try makeRequest() }
      let isCached = method == .get && Duration(cacheInterval: cacheInterval) != nil
      request.cachePolicy = isCached ? .returnCacheDataElseLoad : .reloadIgnoringLocalCacheData
      return request
    }
  }

  /// Writes the method, the URL and the names of the header fields to the log. The values of header fields and query
  /// items, and the body, are left out, because they may be secret.
  public func log() {
    let target = (try? EndpointURL.make(of: self).redactedForLog) ?? "<invalid URL>"
    DeveloperLog.write(method.rawValue, target, fields: headers)
  }

  /// Builds the request of this endpoint; throws a `PrismNetworkFailure` with the details of the error.
  func makeRequest() throws -> URLRequest {
    let url = try EndpointURL.make(of: self)
    var request = URLRequest(url: url)
    request.httpMethod = method.rawValue
    do {
      var fields = try HeaderFields(headers).fields
      if let body {
        let payload = try EndpointBody(body)
        describe(payload, in: &fields)
        payload.attach(to: &request)
      }
      // Set all at once: on some platforms the setter for one field silently drops values that it rejects.
      let length = request.value(forHTTPHeaderField: "Content-Length")
      request.allHTTPHeaderFields = fields
      if let length { request.setValue(length, forHTTPHeaderField: "Content-Length") }
    } catch {
      throw PrismNetworkFailure(.badRequest, because: error, url: url)
    }
    if let timeoutInterval, Duration(timeInterval: timeoutInterval) != nil { request.timeoutInterval = timeoutInterval }
    return request
  }

  /// Sets the `Content-Type` of the body, unless the endpoint sets one. A multipart type without a boundary cannot be
  /// parsed (RFC 2046 §5.1.1) and is replaced by that of the body.
  private func describe(_ payload: EndpointBody, in fields: inout [String: String]) {
    guard let name = fields.keys.first(where: { $0.lowercased() == "content-type" }) else {
      return fields["Content-Type"] = payload.contentType
    }
    let type = fields[name]?.lowercased() ?? ""
    guard payload.contentType.hasPrefix("multipart/"), type.hasPrefix("multipart/"), !type.contains("boundary=") else {
      return
    }
    fields[name] = payload.contentType
  }
}
