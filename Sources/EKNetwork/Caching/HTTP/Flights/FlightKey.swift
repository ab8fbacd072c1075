/// The key of requests that can share a response: everything that the response may depend on, their timeouts, and the
/// invalidation epoch of the URL.
struct FlightKey: Hashable, Sendable {
  /// Fields that identify a single request, for logs and traces, and do not affect the response.
  private static let ignored: Set<String> = [
    "x-request-id", "x-correlation-id", "request-id", "traceparent", "tracestate", "date",
  ]

  let text: String

  init(_ request: TransportRequest, _ query: CacheQuery, _ wire: any Transport) {
    var text = "\(query.key)\n\(query.mode) \(query.decodesContent) \(request.maximumInflation ?? -1)"
    text += " \(request.urlRequest.timeoutInterval) \(wire.resourceTimeout.map { "\($0)" } ?? "-")"
    text += " \(request.wantsTimings) \(query.epoch) \(query.identity.text)\n"
    for field in query.fields.fields {
      let name = field.name.lowercased()
      // Neither a name nor a value can contain a line break: the text is unambiguous.
      if !Self.ignored.contains(name) { text += "\(name):\(field.value)\n" }
    }
    self.text = text
  }
}
