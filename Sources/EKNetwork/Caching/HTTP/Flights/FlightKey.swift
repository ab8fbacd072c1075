/// What requests have in common that can share a response: everything that it may depend on, how long they are ready to
/// wait for it, and that nothing has made invalid what the first one gets.
struct FlightKey: Hashable, Sendable {
  /// Fields that name one exchange, for logs, and make no other response of it.
  private static let ignored: Set<String> = [
    "x-request-id", "x-correlation-id", "request-id", "traceparent", "tracestate", "date",
  ]

  let text: String

  init(_ request: TransportRequest, _ query: CacheQuery, _ wire: any Transport) {
    var text = "\(query.key)\n\(query.mode) \(query.decodesContent) \(request.maximumInflation ?? -1)"
    text += " \(request.urlRequest.timeoutInterval) \(wire.resourceTimeout.map { "\($0)" } ?? "-")"
    text += " \(request.wantsTimings) \(query.epoch) \(query.identity.credentials ?? "-")\n"
    for field in query.fields.fields {
      let name = field.name.lowercased()
      // Neither a name nor a value can hold a line break: the text has one reading.
      if !Self.ignored.contains(name) { text += "\(name):\(field.value)\n" }
    }
    self.text = text
  }
}
