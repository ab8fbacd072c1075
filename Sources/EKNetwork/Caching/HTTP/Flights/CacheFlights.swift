import Foundation

/// The requests in flight, which other requests for the same response join.
///
/// RFC 9111 §4 allows requests to be collapsed if the response may be used for each of them. That is known only from
/// its head; if it may not, the requests that waited are sent separately, and no later request for the URL waits until
/// a response could be stored.
final class CacheFlights: Sendable {
  /// The result of a flight.
  final class SharedResult: Sendable {
    private let response: Locked<TransportResponse?>
    /// The response for the other requests, as it was stored; `nil` if they may not use it.
    let shared: CacheEntry?

    init(_ response: TransportResponse, shared: CacheEntry?) {
      self.response = Locked(response)
      self.shared = shared
    }

    /// Returns the response itself to the first caller. If there is none, it ends with this object.
    func take() -> TransportResponse? {
      response.withLock { response in
        defer { response = nil }
        return response
      }
    }
  }

  /// The largest body that is read for several requests at once.
  static let greatestBody: Int64 = 1024 * 1024
  /// The maximum number of URLs remembered, after which all are forgotten.
  private static let memory = 4096

  private let flights = SharedFlights<FlightKey>()
  private let unshared = Locked<Set<String>>([])

  /// Waits for the flight of a key, which is started if there is none.
  ///
  /// - Throws: The error of the flight, for every caller; `CancellationError` at once if the caller's task is
  ///   cancelled. The flight continues for the others, and is cancelled with the last of them.
  func join(_ key: FlightKey, _ start: @escaping @Sendable () async throws -> SharedResult) async throws -> SharedResult
  {
    try await flights.run(key, start)
  }

  /// Returns whether a request for a URL should wait for the response to another one.
  func mayShare(_ url: String) -> Bool { unshared.withLock { !$0.contains(url) } }

  /// Records whether the response for a URL could be shared.
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
  var waiting: Int { flights.waiterCount(SharedResult.self) }
}
