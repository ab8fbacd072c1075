/// The requests that wait for their turn, with one timer for each key that has waiting requests.
final class RateLimitLine: Sendable {
  /// The scope of a limit.
  struct Key: Hashable, Sendable {
    let origin: Origin
    let client: String?
  }

  private typealias Waiter = CheckedContinuation<Void, any Error>
  private typealias Arrival = RateLimitState.Arrival

  private struct Entry {
    var state: RateLimitState
    var waiters: [UInt64: Waiter] = [:]
    var timer: Task<Void, Never>?
    var wake: Duration?
  }

  private struct Book {
    var entries: [Key: Entry] = [:]
    var lastID: UInt64 = 0
  }

  /// The work to do outside of the lock.
  private struct Consequences {
    var released: [(waiter: Waiter, refusedFor: Duration?)] = []
    var timer: Task<Void, Never>?
  }

  /// The maximum number of keys; further ones are not limited.
  static let maximumKeys = 1_000

  private let rules: RateLimitRules
  private let clock: RateLimitClock
  private let book = Locked(Book())

  init(_ rules: RateLimitRules, clock: RateLimitClock) {
    self.rules = rules
    self.clock = clock
  }

  var keyCount: Int { book.withLock { $0.entries.count } }
  var underWayCount: Int { book.withLock { $0.entries.values.reduce(0) { $0 + $1.state.underWay } } }
  var waitingCount: Int { book.withLock { $0.entries.values.reduce(0) { $0 + $1.state.waitingCount } } }

  // MARK: - Requests

  /// Waits until the request may be sent.
  ///
  /// - Returns: Whether ``leave(_:report:)`` has to be called after it has been sent.
  func enter(_ key: Key) async throws -> Bool {
    let now = clock.now()
    // Most requests do not wait, and need no continuation.
    let arrival: Arrival? = book.withLock { book in
      guard makeRoom(for: key, in: &book, at: now) else { return nil }
      return book.entries[key]?.state.arriveIfOpen(at: now)
    }
    switch arrival {
    case nil: return false
    case .go: return true
    case .wait, .refuse: break
    }
    let id = book.withLock { book in
      book.lastID += 1
      return book.lastID
    }
    try await withCancellableContinuation { continuation in
      wait(continuation, id: id, for: key)
    } leave: {
      self.abandon(id, of: key)
    }
    return true
  }

  /// Counts a request that is part of one that was admitted, and does not wait.
  ///
  /// - Returns: Whether ``leave(_:report:)`` has to be called after it has been sent.
  func enterAtOnce(_ key: Key) -> Bool {
    let now = clock.now()
    return book.withLock { book in
      guard makeRoom(for: key, in: &book, at: now) else { return false }
      book.entries[key]?.state.arriveInside(at: now)
      return true
    }
  }

  /// Records the response or failure of a request that was admitted.
  func leave(_ key: Key, report: RateLimitReport?) {
    let now = clock.now()
    let consequences = book.withLock { book in
      book.entries[key]?.state.end(report, at: now)
      let consequences = proceed(key, in: &book, at: now)
      if book.entries[key]?.state.isBlank(at: now) == true { book.entries[key] = nil }
      return consequences
    }
    carryOut(consequences, host: key.origin.host)
  }

  // MARK: - Waiting

  /// Stores the continuation and returns true, or resumes it.
  private func wait(_ waiter: Waiter, id: UInt64, for key: Key) -> Bool {
    let now = clock.now()
    let (arrival, consequences) = book.withLock { book -> (Arrival, Consequences) in
      // The entry may have been removed meanwhile.
      var entry = book.entries[key] ?? Entry(state: RateLimitState(rules))
      let arrival = entry.state.arrive(id, at: now)
      if arrival == .wait { entry.waiters[id] = waiter }
      book.entries[key] = entry
      return (arrival, proceed(key, in: &book, at: now))
    }
    carryOut(consequences, host: key.origin.host)
    switch arrival {
    case .wait: return true
    case .go: waiter.resume()
    case .refuse(let reason, let delay):
      waiter.resume(throwing: RateLimiter.LimitError(host: key.origin.host, reason: reason, retryAfter: delay))
    }
    return false
  }

  /// Removes and returns the continuation of a cancelled request; `nil` if it no longer waits.
  private func abandon(_ id: UInt64, of key: Key) -> Waiter? {
    let now = clock.now()
    let (waiter, consequences) = book.withLock { book -> (Waiter?, Consequences) in
      guard let waiter = book.entries[key]?.waiters.removeValue(forKey: id) else { return (nil, Consequences()) }
      book.entries[key]?.state.leave(id)
      return (waiter, proceed(key, in: &book, at: now))
    }
    carryOut(consequences, host: key.origin.host)
    return waiter
  }

  private func wake(_ key: Key, by time: Duration) {
    let now = clock.now()
    let consequences = book.withLock { book in
      // Unless another timer has taken its place.
      if book.entries[key]?.wake == time {
        book.entries[key]?.timer = nil
        book.entries[key]?.wake = nil
      }
      return proceed(key, in: &book, at: now)
    }
    carryOut(consequences, host: key.origin.host)
  }

  // MARK: - Under the lock

  /// Releases the requests that may be sent now, and sets the timer for the next one.
  private func proceed(_ key: Key, in book: inout Book, at now: Duration) -> Consequences {
    var consequences = Consequences()
    guard let released = book.entries[key]?.state.release(at: now) else { return consequences }
    for one in released {
      guard let waiter = book.entries[key]?.waiters.removeValue(forKey: one.id) else { continue }
      consequences.released.append((waiter, one.refusedFor))
    }
    let wake = book.entries[key]?.state.wake(at: now)
    guard wake != book.entries[key]?.wake else { return consequences }
    consequences.timer = book.entries[key]?.timer
    book.entries[key]?.wake = wake
    book.entries[key]?.timer = wake.map { wake in
      // Detached: the timer belongs to all waiting requests, not to the task of the first one.
      Task.detached { [weak self, clock] in
        guard (try? await clock.sleep(wake)) != nil else { return }
        self?.wake(key, by: wake)
      }
    }
    return consequences
  }

  private func makeRoom(for key: Key, in book: inout Book, at now: Duration) -> Bool {
    guard book.entries[key] == nil else { return true }
    if book.entries.count >= Self.maximumKeys {
      book.entries = book.entries.filter { !$0.value.state.isUnused(at: now) }
      guard book.entries.count < Self.maximumKeys else { return false }
    }
    book.entries[key] = Entry(state: RateLimitState(rules))
    return true
  }

  // MARK: - Outside of the lock

  private func carryOut(_ consequences: Consequences, host: String) {
    consequences.timer?.cancel()
    for (waiter, delay) in consequences.released {
      if let delay {
        waiter.resume(throwing: RateLimiter.LimitError(host: host, reason: .waitTooLong, retryAfter: delay))
      } else {
        waiter.resume()
      }
    }
  }
}
