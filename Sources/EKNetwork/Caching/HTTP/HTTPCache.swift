import Foundation

/// A private HTTP cache (RFC 9111): keeps responses for as long as their servers say, asks whether a stale one is still
/// the one, and uses it meanwhile, or in an outage, where the server allows that.
///
/// Give one to ``NetworkManager/httpCache`` or ``PrismNetworkAdapter/httpCache``; several may share it. What `send`,
/// `stream` and `download` get comes out of it, and fills it; ``NetworkRequest/cacheMode`` says how a request uses it.
/// The response's `Cache-Status` field says what happened (RFC 9211).
///
/// Two users never share a response: it is found again by a request with the same credentials and cookies alone, unless
/// it says `public`. A response to a request without any is found by requests that have cookies by now.
public final class HTTPCache: Sendable {
  /// What a cache has done since it was made, and what it holds.
  public struct Statistics: Sendable, Equatable {
    /// Requests that were answered from the cache, without a byte to or from the server.
    public var hits = 0
    /// Requests whose stored response the server confirmed (304).
    public var validations = 0
    /// Requests whose response came from the server.
    public var misses = 0
    /// Responses that were stored.
    public var stores = 0
    /// The number of responses in memory.
    public var memoryCount = 0
    /// What they take, in bytes.
    public var memoryUsage = 0
  }

  private struct State {
    var memory: MemoryStore
    var statistics = Statistics()
  }

  private let state: Locked<State>
  let now: @Sendable () -> Date

  /// A cache.
  ///
  /// - Parameter memoryCapacity: How many bytes of memory it may take. One response takes a quarter of it at most.
  ///   Defaults to 16 MiB.
  public convenience init(memoryCapacity: Int = 16 * 1024 * 1024) {
    self.init(memoryCapacity: memoryCapacity, now: { Date() })
  }

  /// For tests: any clock.
  init(memoryCapacity: Int, now: @escaping @Sendable () -> Date) {
    state = Locked(State(memory: MemoryStore(capacity: memoryCapacity)))
    self.now = now
  }

  /// What the cache has done, and what it holds.
  public var statistics: Statistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.memoryCount = state.memory.count
      statistics.memoryUsage = state.memory.cost
      return statistics
    }
  }

  /// Removes every response.
  public func removeAll() async {
    let old = state.withLock { state in
      defer { state.memory = MemoryStore(capacity: state.memory.capacity) }
      return state.memory
    }
    withExtendedLifetime(old) {}
  }

  /// Removes the responses to requests for a URL, whoever sent them. The fragment does not count.
  public func remove(_ url: URL) async { invalidate(url) }

  // MARK: - For the transport

  /// The greatest body that is kept.
  var greatestBody: Int64 { Int64(state.withLock { $0.memory.greatestCost }) }

  func find(_ query: CacheQuery) -> (entry: CacheEntry?, isVaryMiss: Bool) {
    state.withLock { state in
      var isVaryMiss = false
      for location in query.locations {
        let (entry, hasOthers) = state.memory.find(location) { query.selects($0) }
        if let entry { return (entry, false) }
        isVaryMiss = isVaryMiss || hasOthers
      }
      return (nil, isVaryMiss)
    }
  }

  func store(_ entry: CacheEntry, url: String) {
    let location = CacheLocation(url: url, identity: entry.response.identity, directives: entry.response.directives)
    let released = state.withLock { state in
      state.statistics.stores += 1
      return state.memory.insert(entry, at: location)
    }
    withExtendedLifetime(released) {}
  }

  /// Puts a freshened response in the place of the one that it was.
  func replace(_ old: StoredResponse, with entry: CacheEntry, url: String) {
    let from = CacheLocation(url: url, identity: old.identity, directives: old.directives)
    let to = CacheLocation(url: url, identity: entry.response.identity, directives: entry.response.directives)
    let released = state.withLock { state in
      (from == to ? [] : state.memory.remove(old.varying, at: from)) + state.memory.insert(entry, at: to)
    }
    withExtendedLifetime(released) {}
  }

  func remove(_ response: StoredResponse, url: String) {
    let location = CacheLocation(url: url, identity: response.identity, directives: response.directives)
    let released = state.withLock { $0.memory.remove(response.varying, at: location) }
    withExtendedLifetime(released) {}
  }

  func invalidate(_ url: URL) {
    let key = CacheLocation.key(of: url)
    let released = state.withLock { $0.memory.removeAll(of: key) }
    withExtendedLifetime(released) {}
  }

  func count(_ member: WritableKeyPath<Statistics, Int>) {
    state.withLock { $0.statistics[keyPath: member] += 1 }
  }
}
