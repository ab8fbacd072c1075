import Foundation

/// A parser for the header fields in which servers report what is left of a quota: `RateLimit` with `RateLimit-Policy`
/// of draft-ietf-httpapi-ratelimit-headers, the fields of its earlier versions, and the older `X-RateLimit-` fields.
/// Malformed values are ignored.
enum RateLimitFields {
  private typealias Quota = RateLimitReport.Quota
  private typealias Member = (name: String, parameters: [String: String])

  /// The maximum length of a name, which is kept for each client of the server.
  static let maximumNameLength = 256

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
      guard name.utf8.count <= maximumNameLength else { return nil }
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

  private static func separate(_ prefix: String, _ field: (String) -> String?, reset: (String) -> Duration?) -> Quota? {
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

  private struct Entry {
    var state: RateLimitState
    var waiters: [UInt64: Waiter] = [:]
    var timer: (wake: Duration, task: Task<Void, Never>)?
  }

  private struct Book {
    var entries: [Key: Entry] = [:]
    var lastID: UInt64 = 0
  }

  /// The maximum number of keys; further ones are not limited.
  static let maximumKeys = 1_000

  private let rules: RateLimitRules
  private let clock: ElapsedTime
  private let book = Locked(Book())

  init(_ rules: RateLimitRules, clock: ElapsedTime) {
    self.rules = rules
    self.clock = clock
  }

  var keyCount: Int { book.withLock { $0.entries.count } }
  var underWayCount: Int { book.withLock { $0.entries.values.reduce(0) { $0 + $1.state.underWay } } }
  var waitingCount: Int { book.withLock { $0.entries.values.reduce(0) { $0 + $1.state.waitingCount } } }

  /// Waits until the request may be sent.
  ///
  /// - Parameters:
  ///   - isInside: Whether it is part of one that was admitted, and does not wait.
  ///   - deadline: When to stop waiting, with `URLError.timedOut`.
  /// - Returns: The generation for ``leave(_:of:report:)``, which has to be called after it has been sent; `nil` if the
  ///   request is not counted.
  func enter(
    _ key: Key, isInside: Bool = false, for url: URL? = nil, by deadline: ContinuousInstant? = nil
  ) async throws -> Int? {
    // Most requests do not wait, and need no continuation.
    guard let (arrival, generation) = admit(key, isInside: isInside) else { return nil }
    if arrival == .go { return generation }
    let id = book.withLock { $0.lastID.increment() }
    let limit = deadline.map { ($0 - .now).sleepable }
    var expiry: Task<Void, Never>?
    defer { expiry?.cancel() }
    return try await withCancellableContinuation { continuation in
      guard wait(continuation, id: id, for: key, within: limit) else { return false }
      // One that comes later is never reached.
      if let limit, limit < rules.maximumWait { expiry = expire(id, key, url, after: limit) }
      return true
    } leave: {
      self.remove(id, key)
    }
  }

  private func remove(_ id: UInt64, _ key: Key) -> Waiter? {
    change(key) { entry, _ in
      entry.state.leave(id)
      return entry.waiters.removeValue(forKey: id)
    }
  }

  private func expire(_ id: UInt64, _ key: Key, _ url: URL?, after limit: Duration) -> Task<Void, Never> {
    Task { [clock] in
      guard (try? await clock.sleep(clock.duration + limit)) != nil else { return }
      remove(id, key)?.resume(
        throwing: URLError(
          .timedOut, url: url,
          description: "The request timed out while it waited for the rate limit of \(key.origin.host)",
          cause: UnsentRequestError(isOfOwnLimit: true)))
    }
  }

  func leave(_ key: Key, of generation: Int, report: RateLimitReport?) {
    change(key) { entry, now in entry.state.end(report, of: generation, at: now) }
  }

  /// Stores the continuation and returns true, or resumes it.
  private func wait(_ waiter: Waiter, id: UInt64, for key: Key, within limit: Duration?) -> Bool {
    let (arrival, generation) = change(key) { entry, now in
      let arrival = entry.state.arrive(id, at: now, within: limit)
      if arrival == .wait { entry.waiters[id] = waiter }
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

  /// Returns the generation of a request that arrives, if it may be sent; `nil` if there are too many keys for another.
  private func admit(_ key: Key, isInside: Bool) -> (arrival: RateLimitState.Arrival, generation: Int)? {
    let now = clock.duration
    return book.withLock { book in
      if book.entries[key] == nil, book.entries.count >= Self.maximumKeys {
        book.entries = book.entries.filter { !$0.value.state.isUnused(at: now) }
        guard book.entries.count < Self.maximumKeys else { return nil }
      }
      let arrival = book.entries[key, default: Entry(state: RateLimitState(rules))].state
        .arriveIfOpen(at: now, isInside: isInside)
      return (arrival, book.entries[key]?.state.generation ?? 0)
    }
  }

  /// Changes the entry of a key, then releases the requests that may be sent, and sets the timer for the next one.
  @discardableResult
  private func change<Value>(_ key: Key, _ change: (inout Entry, _ now: Duration) -> Value) -> Value {
    let now = clock.duration
    var released: [(waiter: Waiter, refusedFor: Duration?)] = []
    var oldTimer: Task<Void, Never>?
    let (value, generation) = book.withLock { book in
      // Taken out: the requests that wait would be copied. The entry may have been removed meanwhile.
      var entry = book.entries.removeValue(forKey: key) ?? Entry(state: RateLimitState(rules))
      let value = change(&entry, now)
      for one in entry.state.release(at: now) {
        guard let waiter = entry.waiters.removeValue(forKey: one.id) else { continue }
        released.append((waiter, one.refusedFor))
      }
      let wake = entry.state.wake(at: now)
      if wake != entry.timer?.wake {
        oldTimer = entry.timer?.task
        entry.timer = wake.map { ($0, timer(key, $0)) }
      }
      if !entry.state.isBlank(at: now) { book.entries[key] = entry }
      return (value, entry.state.generation)
    }
    oldTimer?.cancel()
    for (waiter, delay) in released {
      if let delay {
        waiter.resume(throwing: RateLimiter.LimitError(host: key.origin.host, reason: .waitTooLong, retryAfter: delay))
      } else {
        waiter.resume(returning: generation)
      }
    }
    return value
  }

  private func timer(_ key: Key, _ wake: Duration) -> Task<Void, Never> {
    // Detached: the timer belongs to all waiting requests, not to the task of the first one.
    Task.detached { [weak self, clock] in
      guard (try? await clock.sleep(wake)) != nil else { return }
      self?.change(key) { entry, _ in
        // Unless another timer has taken its place.
        if entry.timer?.wake == wake { entry.timer = nil }
      }
    }
  }
}
