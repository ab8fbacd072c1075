import Foundation

extension HARDocument.Entry {
  init(_ exchange: HARExchange) {
    let version = exchange.protocolName ?? "unknown"
    self.init(
      startedDateTime: exchange.started.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
      time: exchange.timings.time, request: HARDocument.Request(exchange.request, version: version),
      response: HARDocument.Response(exchange, version: version), timings: HARDocument.Timings(exchange.timings),
      serverIPAddress: exchange.remoteAddress)
  }
}

extension HARDocument.Request {
  fileprivate init(_ request: HARRequest, version: String) {
    let query = URLComponents(string: request.url)?.queryItems ?? []
    self.init(
      method: request.method, url: request.url, httpVersion: version, headers: HARDocument.fields(request.fields),
      queryString: query.map { HARDocument.Field(name: $0.name, value: $0.value ?? "") },
      postData: request.body.map { HARDocument.PostData($0) },
      bodySize: request.body.map { $0.size ?? -1 } ?? 0,
      fingerprints: request.fingerprints.isEmpty ? nil : request.fingerprints)
  }
}

extension HARDocument.PostData {
  fileprivate init(_ body: HARRequestBody) {
    self.init(mimeType: body.type, digest: body.digest)
    guard let data = body.data else {
      comment = body.digest == nil ? "Streamed, not kept" : "Not kept"
      isOmitted = true
      return
    }
    if Int64(data.count) < body.size ?? 0 {
      comment = "Cut off after \(data.count) bytes"
      isOmitted = true
    }
    (text, encoding) = HARDocument.text(data)
  }
}

extension HARDocument.Response {
  fileprivate init(_ exchange: HARExchange, version: String) {
    self.init(httpVersion: version, error: exchange.error)
    guard let response = exchange.response else { return }
    status = response.status
    statusText = response.reason
    headers = HARDocument.fields(response.fields)
    redirectURL = (try? response.fields.single("location")) ?? ""
    content = HARDocument.Content(response.content, type: response.fields.value("content-type"))
  }
}

extension HARDocument.Content {
  fileprivate init(_ content: HARContent, type: String?) {
    size = content.size
    if let type { mimeType = type }
    if content.isTruncated {
      comment = "Cut off after \(content.data.count) bytes"
      isTruncated = true
    }
    (text, encoding) = HARDocument.text(content.data)
    if content.pieces.count > 1 { pieces = content.pieces }
  }
}

extension HARDocument.Timings {
  fileprivate init(_ timings: HARTimings) {
    self.init(
      blocked: timings.blocked ?? -1, dns: timings.dns ?? -1, connect: timings.connect ?? -1, ssl: timings.ssl ?? -1,
      send: timings.send, wait: timings.wait, receive: timings.receive)
  }
}

extension HARDocument {
  fileprivate static func fields(_ fields: HeaderFieldList) -> [Field] {
    fields.fields.map { Field(name: $0.name, value: $0.value) }
  }

  /// Returns bytes as text that JSON can represent.
  fileprivate static func text(_ data: Data) -> (text: String, encoding: String?) {
    if let text = data.withUnsafeBytes({ String(utf8Bytes: $0) }) { return (text, nil) }
    return (data.base64EncodedString(), "base64")
  }
}
