import Foundation

/// The requests in flight, which other requests for the same response join.
///
/// RFC 9111 §4 allows requests to be collapsed if the response may be used for each of them. That is known only from
/// its head; if it may not, the requests that waited are sent separately, and no later request for the URL waits until
/// a response could be stored.
final class CacheFlights: Sendable {
  final class SharedResult: Sendable {
    private let response: Locked<TransportResponse?>
    /// The response for the other requests, as it was stored; `nil` if they may not use it.
    let shared: CacheEntry?

    init(_ response: TransportResponse, shared: CacheEntry?) {
      self.response = Locked(response)
      self.shared = shared
    }

    /// Returns the response itself, once, for the request that was sent. If that has been cancelled, it ends with this object.
    func take() -> TransportResponse? { response.withLock { $0.take() } }
  }

  /// The largest body that is read for several requests at once.
  static let greatestBody: Int64 = 1024 * 1024
  /// The maximum number of URLs remembered, after which all are forgotten.
  private static let memory = 4096

  let underWay = SharedFlights<FlightKey>()
  private let unshared = Locked<Set<String>>([])

  func mayShare(_ url: String) -> Bool { unshared.withLock { !$0.contains(url) } }

  func note(_ url: String, isShared: Bool) {
    unshared.withLock { unshared in
      if isShared {
        if !unshared.isEmpty { unshared.remove(url) }
      } else {
        if unshared.count >= Self.memory { unshared.removeAll() }
        unshared.insert(url)
      }
    }
  }

  /// For tests: the number of callers that wait for any response.
  var waiting: Int { underWay.waiterCount(SharedResult.self) }
}

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
    text += " \(request.sent.timeoutInterval) \(wire.resourceTimeout.map { "\($0)" } ?? "-")"
    text += " \(request.wantsTimings) \(query.epoch) \(query.identity.text)\n"
    self.text = text + Self.lines(of: query.fields)
  }

  /// Returns the fields that a response may depend on, sorted by name: the order of lines of one name counts (RFC 9110
  /// §5.3). Neither a name nor a value can contain a line break: the text is unambiguous.
  static func lines(of fields: some Sequence<HeaderFieldList.Field>) -> String {
    fields.map { (name: $0.name.lowercased(), value: $0.value) }.filter { !ignored.contains($0.name) }
      .sorted { $0.name < $1.name }.map { "\($0.name):\($0.value)\n" }.joined()
  }
}

/// A body whose beginning has already been read.
final class PrefixedBody: WrappingBody {
  /// The chunks, the next one last; `nil` after the body was cancelled.
  private let prefix: Locked<[Data]?>
  let body: any TransportBody
  private let hasRest: Bool

  init(_ prefix: [Data], _ rest: any TransportBody, hasRest: Bool) {
    self.prefix = Locked(prefix.reversed())
    body = rest
    self.hasRest = hasRest
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    let chunk = try prefix.withLock { prefix -> Data? in
      // Not the end: its reader would take what it has read for the whole body.
      guard prefix != nil else { throw CancellationError() }
      return prefix?.popLast()
    }
    if let chunk { return chunk }
    return hasRest ? try await body.next() : nil
  }

  func cancel(because error: any Error) {
    prefix.withLock { $0 = nil }
    body.cancel(because: error)
  }
}
