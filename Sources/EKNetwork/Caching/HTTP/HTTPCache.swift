import Foundation

/// A private HTTP cache (RFC 9111): keeps responses for as long as their servers say, asks whether a stale one is still
/// the one, and uses it meanwhile, or in an outage, where the server allows that.
///
/// Give one to ``NetworkManager/httpCache`` or ``PrismNetworkAdapter/httpCache``; several may share it. What `send`,
/// `stream` and `download` get comes out of it, and fills it; ``NetworkRequest/cacheMode`` says how a request uses it.
/// The response's `Cache-Status` field says what happened (RFC 9211).
///
/// Two users never share a response: it is found again by a request with the same credentials and cookies alone, unless
/// it says `public` and not `private`. A response to a request without any is found by requests that have cookies by now.
public final class HTTPCache: Sendable {
  /// What a cache has done since it was made, and what it holds.
  public struct Statistics: Sendable, Equatable {
    /// Requests that were served from the cache, without a byte to or from the server.
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
    /// How often something was stored or removed: what was read from the disk before that may be out of date.
    var changes = 0
    var invalidations = InvalidationLog()
  }

  private let state: Locked<State>
  private let disk: DiskStore?
  private let failureHandler: Locked<(@Sendable (StorageFailure) -> Void)?>
  let flights = CacheFlights()
  let revalidations = RevalidationsInProgress()
  let now: @Sendable () -> Date

  /// A cache. Nothing is read before the first request.
  ///
  /// - Parameters:
  ///   - memoryCapacity: How many bytes of memory it may take. One response takes a quarter of it at most. Defaults to
  ///     16 MiB.
  ///   - directory: Where responses outlive the process, in a folder of their own that this user alone can read. It is
  ///     made if it is not there; several processes may share it. Defaults to `nil`: nowhere.
  ///   - diskCapacity: How many bytes they may take there; one takes a quarter of it at most. What has to go is removed
  ///     in the background, so that for moments it may be half as much again. Defaults to 256 MiB.
  public convenience init(
    memoryCapacity: Int = 16 * 1024 * 1024, directory: URL? = nil, diskCapacity: Int = 256 * 1024 * 1024
  ) {
    self.init(memoryCapacity: memoryCapacity, directory: directory, diskCapacity: diskCapacity, now: { Date() })
  }

  /// For tests: any clock.
  init(
    memoryCapacity: Int, directory: URL? = nil, diskCapacity: Int = 256 * 1024 * 1024,
    now: @escaping @Sendable () -> Date
  ) {
    let state = Locked(State(memory: MemoryStore(capacity: memoryCapacity)))
    let handler = Locked<(@Sendable (StorageFailure) -> Void)?>(nil)
    self.state = state
    failureHandler = handler
    disk = directory.map { directory in
      DiskStore(
        directory: directory, capacity: Int64(diskCapacity), used: { state.withLock { $0.memory.locations } },
        report: { failure in handler.withLock { $0 }?(failure) })
    }
    self.now = now
  }

  /// Receives what the directory did not let the cache do; no request fails of it. Called on the thread where it happens,
  /// at any time and several times at once, so it must be quick. Defaults to `nil`.
  public var storageFailureHandler: (@Sendable (StorageFailure) -> Void)? {
    get { failureHandler.withLock { $0 } }
    set {
      let old = failureHandler.withLock { handler in
        defer { handler = newValue }
        return handler
      }
      withExtendedLifetime(old) {}
    }
  }

  /// What the cache has done, and what it holds in memory.
  public var statistics: Statistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.memoryCount = state.memory.count
      statistics.memoryUsage = state.memory.cost
      return statistics
    }
  }

  /// Removes every response, also those of other processes that share the directory.
  public func removeAll() async { await Self.apart { self.clear() } }

  /// Removes the responses to requests for a URL, no matter who sent them. The fragment does not count.
  public func remove(_ url: URL) async { await Self.apart { self.invalidate(url) } }

  /// Does what may wait for a disk, away from the caller's actor.
  @concurrent private static func apart(_ work: @Sendable () -> Void) async { work() }

  // MARK: - For the transport

  /// Takes in a body that is going to be stored; `nil` when it is too large for that.
  func makeGatherer(expected: Int64?) -> BodyGatherer? {
    let memoryLimit = Int64(state.withLock { $0.memory.greatestCost })
    if let expected, expected > max(memoryLimit, disk?.greatestBody ?? 0) { return nil }
    return BodyGatherer(memoryLimit: memoryLimit, disk: disk, expected: expected)
  }

  func find(_ query: CacheQuery) -> (entry: CacheEntry?, isVaryMiss: Bool) {
    let (entry, isVaryMiss, changes) = state.withLock { state in
      var isVaryMiss = false
      for location in query.locations {
        let (entry, hasOthers) = state.memory.find(location) { query.selects($0) }
        if let entry { return (CacheEntry?.some(entry), false, state.changes) }
        isVaryMiss = isVaryMiss || hasOthers
      }
      return (nil, isVaryMiss, state.changes)
    }
    guard entry == nil, let disk else { return (entry, isVaryMiss) }
    let (found, hasOthers) = disk.find(query.locations) { query.selects($0) }
    guard let found else { return (nil, isVaryMiss || hasOthers) }
    if case .data = found.entry.body {
      let released = state.withLock { state in
        state.changes == changes ? state.memory.insert(found.entry, at: found.location) : []
      }
      withExtendedLifetime(released) {}
    }
    return (found.entry, false)
  }

  /// What ``store(_:_:url:since:)`` and ``replace(_:with:url:since:)`` compare.
  func epoch(of url: String) -> Int { state.withLock { $0.invalidations.epoch(of: url) } }

  /// Stores a response, unless what is stored for its URL was made invalid since it was asked for.
  func store(_ response: StoredResponse, _ body: BodyGatherer.Content, url: String, since epoch: Int) {
    guard self.epoch(of: url) == epoch else { return }
    let location = CacheLocation(url: url, identity: response.identity, directives: response.directives)
    disk?.store(response, body, at: location)
    let isLate = change { state in
      guard state.invalidations.epoch(of: url) == epoch else { return nil }
      state.statistics.stores += 1
      switch body {
      case .data(let data): return state.memory.insert(CacheEntry(response: response, body: data), at: location)
      case .written: return state.memory.remove(response.varying, at: location)
      }
    }
    if isLate { disk?.remove(response, at: location) }
  }

  /// Puts a freshened response in the place of the one that it was.
  func replace(_ old: StoredResponse, with entry: CacheEntry, url: String, since epoch: Int) {
    guard self.epoch(of: url) == epoch else { return }
    let from = CacheLocation(url: url, identity: old.identity, directives: old.directives)
    let to = CacheLocation(url: url, identity: entry.response.identity, directives: entry.response.directives)
    if from != to { remove(old, url: url) }
    if from == to {
      disk?.renew(old, as: entry.response, at: to)
    } else if case .data(let data) = entry.body {
      disk?.store(entry.response, .data(data), at: to)
    }
    let isLate = change { state in
      guard state.invalidations.epoch(of: url) == epoch else { return nil }
      if case .data = entry.body { return state.memory.insert(entry, at: to) }
      return []
    }
    if isLate { disk?.remove(entry.response, at: to) }
  }

  func remove(_ response: StoredResponse, url: String) {
    let location = CacheLocation(url: url, identity: response.identity, directives: response.directives)
    disk?.remove(response, at: location)
    change { $0.memory.remove(response.varying, at: location) }
  }

  func invalidate(_ url: URL) {
    let key = CacheLocation.key(of: url)
    state.withLock { $0.invalidations.note(key) }
    disk?.removeAll(of: key)
    change { $0.memory.removeAll(of: key) }
  }

  private func clear() {
    state.withLock { $0.invalidations.noteAll() }
    disk?.removeAll()
    let old = state.withLock { state in
      defer { state.memory = MemoryStore(capacity: state.memory.capacity) }
      state.changes += 1
      return state.memory
    }
    withExtendedLifetime(old) {}
  }

  /// Changes the memory, after the disk was changed: what is read there meanwhile must not get into the memory
  /// behind this. What `body` returns is released outside of the lock; `nil` means that it came too late.
  @discardableResult private func change(_ body: (inout State) -> [CacheEntry]?) -> Bool {
    let released = state.withLock { state in
      state.changes += 1
      return body(&state)
    }
    return withExtendedLifetime(released) { released == nil }
  }

  func count(_ member: WritableKeyPath<Statistics, Int>) {
    state.withLock { $0.statistics[keyPath: member] += 1 }
  }

  /// For tests: waits for what the disk does in the background.
  func settle() { disk?.settle() }
}
