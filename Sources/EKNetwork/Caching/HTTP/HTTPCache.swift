import Foundation

/// A private HTTP cache (RFC 9111), which stores responses for as long as their servers allow, revalidates stale ones,
/// and uses a stale response during revalidation or an outage where the server permits that.
///
/// Assign a cache to ``NetworkManager/httpCache`` or ``PrismNetworkAdapter/httpCache``; several clients may share it.
/// `send`, `stream` and `download` read from it and fill it; ``NetworkRequest/cacheMode`` controls how a request uses
/// it. The response's `Cache-Status` field tells what happened (RFC 9211).
///
/// A response is used only for requests with the same credentials and cookies, unless it is `public` and not `private`.
/// A response to a request without credentials and cookies is also used for requests that only have cookies. Clients
/// that trust other certificate authorities or pinned keys, or whose ``ConnectionOptions`` lead elsewhere, share none.
public final class HTTPCache: Sendable {
  /// The activity of a cache since its creation, and its current contents.
  ///
  /// A request that the cache sends in the background (`stale-while-revalidate`) is no hit, validation or miss: the one that
  /// caused it was a hit. Nor is a request for which it looks for no stored response, such as a POST.
  public struct Statistics: Sendable, Equatable {
    /// The number of requests for which a stored response was returned without confirmation by the server: fresh, stale
    /// (`stale-while-revalidate`, `stale-if-error`), or just stored by a concurrent identical request.
    public var hits = 0
    /// The number of requests whose stored response the server confirmed (304).
    public var validations = 0
    /// The number of requests for which the server's own response was returned.
    public var misses = 0
    /// The number of responses that were stored, in memory or on the disk, in the background as well.
    public var stores = 0
    /// The number of responses in memory.
    public var memoryCount = 0
    /// The memory usage of those responses, in bytes.
    public var memoryUsage = 0
  }

  private struct State {
    var memory: MemoryStore
    var statistics = Statistics()
    /// The number of changes: what was read from the disk before one may be out of date.
    var changes = 0
    var invalidations = InvalidationLog()
  }

  private let state: Locked<State>
  private let disk: DiskStore?
  private let failureHandler: Locked<(@Sendable (StorageFailure) -> Void)?>
  let flights = CacheFlights()
  let revalidations = RevalidationsInProgress()
  let now: @Sendable () -> Date

  /// Creates a cache. Nothing is read before the first request.
  ///
  /// - Parameters:
  ///   - memoryCapacity: The memory capacity in bytes, of which a single response takes at most a quarter. Defaults to
  ///     16 MiB.
  ///   - directory: The directory for responses that outlive the process, in a subfolder that only this user can read.
  ///     It is created if it does not exist; several processes may share it. Defaults to `nil`: no disk storage.
  ///   - diskCapacity: The disk capacity, in bytes; a single response takes at most a quarter of it. Eviction happens
  ///     in the background, so usage, including what is being received, may briefly exceed the capacity by half; a
  ///     response for which there is no place then is not stored. Defaults to 256 MiB.
  public convenience init(
    memoryCapacity: Int = 16 * 1024 * 1024, directory: URL? = nil, diskCapacity: Int = 256 * 1024 * 1024
  ) {
    self.init(memoryCapacity: memoryCapacity, directory: directory, diskCapacity: diskCapacity, now: { Date() })
  }

  /// For tests, with any clock.
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

  /// The handler called when a file operation in the directory fails or a file is damaged; no request fails because of
  /// that. It is called on the thread of the failure, at any time and possibly concurrently, so it must be quick.
  /// Defaults to `nil`.
  public var storageFailureHandler: (@Sendable (StorageFailure) -> Void)? {
    get { failureHandler.withLock { $0 } }
    set { failureHandler.replace(\.self, with: newValue) }
  }

  /// The activity of the cache, and its contents in memory.
  public var statistics: Statistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.memoryCount = state.memory.count
      statistics.memoryUsage = state.memory.cost
      return statistics
    }
  }

  /// Removes all responses, of all users, from memory and from the directory, for every process that shares it.
  /// Responses in the memory of other processes remain.
  public func removeAll() async { await Self.apart { self.clear() } }

  /// Removes the responses for a URL, of all users. The fragment is ignored.
  public func remove(_ url: URL) async { await Self.apart { self.invalidate(url) } }

  /// Runs work that may block on the disk, off the caller's actor.
  @concurrent private static func apart(_ work: @Sendable () -> Void) async { work() }

  func makeGatherer(expected: Int64?) -> BodyGatherer? {
    let memoryLimit = Int64(state.withLock { $0.memory.greatestCost })
    if let expected, expected > max(memoryLimit, disk?.greatestBody ?? 0) { return nil }
    return BodyGatherer(memoryLimit: memoryLimit, disk: disk, expected: expected)
  }

  func find(_ query: CacheQuery) -> (entry: CacheEntry?, isVaryMiss: Bool) {
    let (entry, isVaryMiss, changes) = state.withLock { state in
      var (newest, isVaryMiss) = (CacheEntry?.none, false)
      for location in query.locations {
        let (entry, hasOthers) = state.memory.find(location) { query.selects($0) }
        // RFC 9111 §4: the most recent one, wherever it is stored.
        if let entry, newest.map({ $0.response.responseTime < entry.response.responseTime }) ?? true { newest = entry }
        isVaryMiss = isVaryMiss || hasOthers
      }
      return (newest, newest == nil && isVaryMiss, state.changes)
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

  /// Returns the number that ``store(_:_:url:since:)`` and ``replace(_:with:url:since:)`` compare.
  func epoch(of url: String) -> Int { state.withLock { $0.invalidations.epoch(of: url) } }

  /// Stores a response, unless its URL was invalidated since the request was sent, or a response is stored that was
  /// requested later: a body may be read slowly, and ends after that of a newer response.
  ///
  /// - Parameter old: The response that it replaces, which may be stored for other users than the new one.
  func store(
    _ response: StoredResponse, _ body: BodyGatherer.Content, url: String, replacing old: StoredResponse? = nil,
    since epoch: Int
  ) {
    let now = now()
    let location = CacheLocation(url: url, identity: response.identity, directives: response.directives)
    func isTooLate(_ state: State) -> Bool {
      let current = state.memory.variant(of: response, at: location)
      return state.invalidations.epoch(of: url) != epoch || current?.supersedes(response, at: now) == true
    }
    guard !state.withLock({ isTooLate($0) }) else { return }
    let outcome = disk?.store(response, body, at: location, now: now)
    guard outcome != .superseded else { return }
    if let old, CacheLocation(url: url, identity: old.identity, directives: old.directives) != location {
      remove(old, url: url)
    }
    let isLate = change { state in
      guard !isTooLate(state) else { return nil }
      let released =
        switch body {
        case .data(let data): state.memory.insert(CacheEntry(response: response, body: data), at: location)
        case .written: state.memory.removeSuperseded(by: response, at: location)
        }
      // Either may have no place for it.
      if outcome == .stored || state.memory.variant(of: response, at: location) != nil {
        state.statistics.stores += 1
      }
      return released
    }
    if isLate { disk?.remove(response, at: location, isOwn: true) }
  }

  /// A text that is part of the digests of secrets in this cache, none if they are only kept in memory.
  var salt: String { disk?.salt ?? "" }

  func replace(_ old: StoredResponse, with entry: CacheEntry, url: String, since epoch: Int) {
    guard self.epoch(of: url) == epoch else { return }
    let now = now()
    let from = CacheLocation(url: url, identity: old.identity, directives: old.directives)
    let to = CacheLocation(url: url, identity: entry.response.identity, directives: entry.response.directives)
    // What has been confirmed for one user remains as it is for others, who have not asked.
    let isReplaced = entry.response.directives.isShareable || old.identity.isSameUser(as: entry.response.identity)
    if from != to, isReplaced { remove(old, url: url) }
    if from == to {
      disk?.renew(old, as: entry.response, at: to)
    } else if case .data(let data) = entry.body {
      disk?.store(entry.response, .data(data), at: to, now: now)
    }
    let isLate = change { state in
      guard state.invalidations.epoch(of: url) == epoch else { return nil }
      // As on the disk: what has been stored since is more recent, and not what the server has confirmed.
      let current = state.memory.variant(of: from == to ? old : entry.response, at: to)
      if let current, from == to ? !current.isSame(as: old) : current.supersedes(entry.response, at: now) { return [] }
      // `Vary` may name other fields now.
      let former = from == to ? state.memory.remove(old, at: to) : []
      if case .data = entry.body { return former + state.memory.insert(entry, at: to) }
      return former
    }
    if isLate { disk?.remove(entry.response, at: to, isOwn: true) }
  }

  func remove(_ response: StoredResponse, url: String) {
    let location = CacheLocation(url: url, identity: response.identity, directives: response.directives)
    disk?.remove(response, at: location)
    change { $0.memory.remove(response, at: location) }
  }

  /// Removes a response because the server's current one, which is not stored, has made it obsolete. Nor is what was
  /// requested before that stored afterwards, such as the same response again, or its confirmation.
  func discard(_ response: StoredResponse, url: String) {
    state.withLock { $0.invalidations.note(url) }
    remove(response, url: url)
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
      state.changes += 1
      return exchange(&state.memory, with: MemoryStore(capacity: state.memory.capacity))
    }
    withExtendedLifetime(old) {}
  }

  /// Changes the memory after a change to the disk, so that what is read from there meanwhile does not enter the memory
  /// afterwards. What `body` returns is released outside the lock; `nil` means that the change came too late.
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

  /// For tests: waits for the background work of the disk store.
  func settle() { disk?.settle() }

  /// A failed file operation in the cache's directory, or a damaged file. No request fails because of it: the response
  /// comes from its server, or is not stored.
  public struct StorageFailure: Sendable, Equatable {
    /// A kind of file operation.
    public enum Operation: Sendable, Equatable {
      /// Reading a response.
      case read
      /// Writing a response.
      case write
    }

    /// The operation that failed.
    public let operation: Operation
    /// The path of the file.
    public let path: String
    /// The system's error number; 0 for a file that is damaged.
    public let code: Int32

    /// Creates a failure as the library would report it, for tests.
    public init(operation: Operation, path: String, code: Int32) {
      self.operation = operation
      self.path = path
      self.code = code
    }
  }
}
