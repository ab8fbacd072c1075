import Foundation

/// The requests under way, which others for the same response join.
///
/// RFC 9111 §4 allows to collapse requests where the response may be used for each of them. Whether it may, its head
/// tells; those who have waited in vain then send requests of their own. Where that has happened, none waits any more
/// until a response could be stored.
final class CacheFlights: Sendable {
  /// What a flight has brought.
  final class Landing: Sendable {
    private let response: Locked<TransportResponse?>
    /// What the others get: the response as it was stored; `nil` if they may not have it.
    let shared: CacheEntry?

    init(_ response: TransportResponse, shared: CacheEntry?) {
      self.response = Locked(response)
      self.shared = shared
    }

    /// The response itself, for the first that asks. If none does it ends with this object.
    func take() -> TransportResponse? {
      response.withLock { response in
        defer { response = nil }
        return response
      }
    }
  }

  /// The greatest body that is read for several at once.
  static let greatestBody: Int64 = 1024 * 1024
  /// So many URLs are remembered, and then none.
  private static let memory = 4096

  private let flights = SharedFlights<FlightKey>()
  private let unshared = Locked<Set<String>>([])

  /// Waits for the flight of a key, which is started if there is none.
  ///
  /// - Throws: What the flight throws, to every caller; `CancellationError` at once when the caller's task is cancelled. The
  ///   flight goes on for the others, and ends with the last of them.
  func join(_ key: FlightKey, _ start: @escaping @Sendable () async throws -> Landing) async throws -> Landing {
    try await flights.run(key, start)
  }

  /// Whether a request for a URL should wait for the response to another one.
  func mayShare(_ url: String) -> Bool { unshared.withLock { !$0.contains(url) } }

  /// Notes whether the response for a URL could be shared.
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

  /// For tests: how many wait for a response, whichever it is.
  var waiting: Int { flights.waiterCount(Landing.self) }
}
