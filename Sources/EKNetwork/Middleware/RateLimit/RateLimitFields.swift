import Foundation

/// A parser for the header fields in which servers report what is left of a quota: `RateLimit` with `RateLimit-Policy`
/// of draft-ietf-httpapi-ratelimit-headers, the fields of its earlier versions, and the older `X-RateLimit-` fields.
/// Malformed values are ignored.
enum RateLimitFields {
  private typealias Quota = RateLimitReport.Quota
  private typealias Member = (name: String, parameters: [String: String])

  static func quotas(now: Date, field: (String) -> String?) -> [RateLimitReport.Quota] {
    if let value = field("RateLimit") {
      return combined(value) ?? items(value, policies: field("RateLimit-Policy"))
    }
    if let quota = separate("RateLimit-", field, reset: { DeltaSeconds.parse($0).map { .seconds($0) } }) {
      return [quota]
    }
    return separate("X-RateLimit-", field, reset: { time($0, now: now) }).map { [$0] } ?? []
  }

  /// `"burst";r=3;t=10, "day";r=900;t=36000`
  private static func items(_ value: String, policies: String?) -> [Quota] {
    var known: [String: [String: String]] = [:]
    for (name, parameters) in list(policies ?? "") { known[name] = parameters }
    return list(value).compactMap { name, parameters in
      let policy = known[name] ?? [:]
      // Quotas of bytes and of concurrent requests are not counted here.
      guard policy["qu"].map({ Substring($0).unquoted() }) ?? "requests" == "requests" else { return nil }
      guard let remaining = parameters["r"].flatMap(DeltaSeconds.parse) else { return nil }
      // The window is the longest that a reset can take.
      let reset = (parameters["t"] ?? policy["w"]).flatMap(DeltaSeconds.parse)
      return Quota(
        name: name, remaining: Int(clamping: remaining), reset: reset.map { .seconds($0) },
        limit: policy["q"].flatMap(DeltaSeconds.parse).map { Int(clamping: $0) })
    }
  }

  /// `limit=100, remaining=3, reset=10`, as in the draft until version 7.
  private static func combined(_ value: String) -> [Quota]? {
    var values: [Substring: Int64] = [:]
    for member in FieldList.members(value) {
      let pair = member.split(separator: "=", maxSplits: 1)
      if pair.count == 2 { values[pair[0]] = DeltaSeconds.parse(pair[1]) }
    }
    guard let remaining = values["remaining"] else { return nil }
    return [
      Quota(
        remaining: Int(clamping: remaining), reset: values["reset"].map { .seconds($0) },
        limit: values["limit"].map { Int(clamping: $0) })
    ]
  }

  /// Parses a quota with a separate field for each number.
  private static func separate(
    _ prefix: String, _ field: (String) -> String?, reset: (String) -> Duration?
  ) -> Quota? {
    guard let remaining = field(prefix + "Remaining").flatMap({ number($0) }) else { return nil }
    return Quota(
      remaining: remaining, reset: field(prefix + "Reset").flatMap { reset(String($0[...].trimmingBlanks())) },
      limit: field(prefix + "Limit").flatMap { number($0) })
  }

  /// Parses the number before the other members of a list, or the parameters of an item.
  private static func number(_ value: String) -> Int? {
    let first = value.prefix { $0 != "," && $0 != ";" }
    return DeltaSeconds.parse(first.trimmingBlanks()).map { Int(clamping: $0) }
  }

  /// Parses `X-RateLimit-Reset`, which has no specification: seconds from now, seconds since 1970, or milliseconds
  /// since 1970.
  private static func time(_ value: String, now: Date) -> Duration? {
    guard value.utf8.allSatisfy({ $0.isDigit || $0 == 0x2E }), let number = Double(value) else { return nil }
    let since1970 = number >= 1e12 ? number / 1000 : number
    guard number >= 1e9 else { return .clamped(seconds: number) }
    return .clamped(seconds: since1970 - now.timeIntervalSince1970)
  }

  // MARK: - Structured fields (RFC 9651)

  /// Parses a list of items with parameters. If one of them is invalid, the whole field is ignored (§4.2).
  private static func list(_ value: String) -> [Member] {
    let members = FieldList.members(value).map(member)
    return members.contains { $0 == nil } ? [] : members.compactMap(\.self)
  }

  private static func member(_ text: Substring) -> Member? {
    // The separator at the end is found unless a quoted string is open, which is invalid.
    var parts = FieldList.members("\(text);", separatedBy: UInt8(ascii: ";"), omittingEmpty: false)
    guard parts.popLast()?.isEmpty == true else { return nil }
    var parameters: [String: String] = [:]
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = pair[0].trimmingBlanks()
      guard !name.isEmpty else { return nil }
      parameters[String(name)] = pair.count == 2 ? String(pair[1].trimmingBlanks()) : ""
    }
    guard let name = parts.first, !name.isEmpty else { return nil }
    return (name.unquoted(), parameters)
  }
}

/// The requests that wait for their turn, with one timer for each key that has waiting requests.
final class RateLimitLine: Sendable {
  /// The scope of a limit.
  struct Key: Hashable, Sendable {
    let origin: Origin
    let client: String?
  }

  private typealias Waiter = CheckedContinuation<Int, any Error>
  private typealias Arrival = RateLimitState.Arrival

  private struct Entry {
    var state: RateLimitState
    var waiters: [UInt64: Waiter] = [:]
    var timer: (wake: Duration, task: Task<Void, Never>)?
  }

  private struct Book {
    var entries: [Key: Entry] = [:]
    var lastID: UInt64 = 0
  }

  /// The work to do outside of the lock.
  private struct Consequences {
    var released: [(waiter: Waiter, refusedFor: Duration?)] = []
    /// The generation of the requests that are released.
    var generation = 0
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

  /// Waits until the request may be sent.
  ///
  /// - Returns: The generation for ``leave(_:of:report:)``, which has to be called after it has been sent; `nil` if the
  ///   request is not counted.
  func enter(_ key: Key) async throws -> Int? {
    let now = clock.now()
    // Most requests do not wait, and need no continuation.
    let (isCounted, generation) = book.withLock { book -> (Bool, Int?) in
      guard makeRoom(for: key, in: &book, at: now) else { return (false, nil) }
      let isOpen = book.entries[key]?.state.arriveIfOpen(at: now) == .go
      return (true, isOpen ? book.entries[key]?.state.generation : nil)
    }
    guard isCounted, generation == nil else { return generation }
    let id = book.withLock { $0.lastID.increment() }
    return try await withCancellableContinuation { continuation in
      wait(continuation, id: id, for: key)
    } leave: {
      self.abandon(id, of: key)
    }
  }

  /// Counts a request that is part of one that was admitted, and does not wait.
  ///
  /// - Returns: As ``enter(_:)``.
  func enterAtOnce(_ key: Key) -> Int? {
    let now = clock.now()
    return book.withLock { book in
      guard makeRoom(for: key, in: &book, at: now) else { return nil }
      book.entries[key]?.state.arriveInside(at: now)
      return book.entries[key]?.state.generation
    }
  }

  /// Records the response or failure of a request that was admitted.
  func leave(_ key: Key, of generation: Int, report: RateLimitReport?) {
    change(key) { $0.entries[key]?.state.end(report, of: generation, at: $1) }
  }

  /// Stores the continuation and returns true, or resumes it.
  private func wait(_ waiter: Waiter, id: UInt64, for key: Key) -> Bool {
    let (arrival, generation) = change(key) { book, now -> (Arrival, Int) in
      // The entry may have been removed meanwhile.
      var entry = book.entries[key] ?? Entry(state: RateLimitState(rules))
      let arrival = entry.state.arrive(id, at: now)
      if arrival == .wait { entry.waiters[id] = waiter }
      book.entries[key] = entry
      return (arrival, entry.state.generation)
    }
    switch arrival {
    case .wait: return true
    case .go: waiter.resume(returning: generation)
    case .refuse(let reason, let delay):
      waiter.resume(throwing: RateLimiter.LimitError(host: key.origin.host, reason: reason, retryAfter: delay))
    }
    return false
  }

  /// Removes and returns the continuation of a cancelled request; `nil` if it no longer waits.
  private func abandon(_ id: UInt64, of key: Key) -> Waiter? {
    change(key) { book, _ in
      book.entries[key]?.state.leave(id)
      return book.entries[key]?.waiters.removeValue(forKey: id)
    }
  }

  private func wake(_ key: Key, by time: Duration) {
    change(key) { book, _ in
      // Unless another timer has taken its place.
      if book.entries[key]?.timer?.wake == time { book.entries[key]?.timer = nil }
    }
  }

  /// Changes the entry of a key, releases the requests that may be sent then, and resumes them outside of the lock.
  private func change<Result>(_ key: Key, _ body: (inout Book, _ now: Duration) -> Result) -> Result {
    let now = clock.now()
    let (result, consequences) = book.withLock { book in
      let result = body(&book, now)
      return (result, proceed(key, in: &book, at: now))
    }
    consequences.timer?.cancel()
    for (waiter, delay) in consequences.released {
      if let delay {
        waiter.resume(
          throwing: RateLimiter.LimitError(host: key.origin.host, reason: .waitTooLong, retryAfter: delay))
      } else {
        waiter.resume(returning: consequences.generation)
      }
    }
    return result
  }

  /// Releases the requests that may be sent now, and sets the timer for the next one. An entry without a state to keep is
  /// removed.
  private func proceed(_ key: Key, in book: inout Book, at now: Duration) -> Consequences {
    var consequences = Consequences()
    guard let released = book.entries[key]?.state.release(at: now) else { return consequences }
    consequences.generation = book.entries[key]?.state.generation ?? 0
    for one in released {
      guard let waiter = book.entries[key]?.waiters.removeValue(forKey: one.id) else { continue }
      consequences.released.append((waiter, one.refusedFor))
    }
    let wake = book.entries[key]?.state.wake(at: now)
    if wake != book.entries[key]?.timer?.wake {
      consequences.timer = book.entries[key]?.timer?.task
      book.entries[key]?.timer = wake.map { wake in
        // Detached: the timer belongs to all waiting requests, not to the task of the first one.
        let task = Task.detached { [weak self, clock] in
          guard (try? await clock.sleep(wake)) != nil else { return }
          self?.wake(key, by: wake)
        }
        return (wake, task)
      }
    }
    if book.entries[key]?.state.isBlank(at: now) == true { book.entries[key] = nil }
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
}
