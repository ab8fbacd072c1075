/// Decides which requests to an origin may be sent now and which have to wait, in the order of arrival.
///
/// A request has to wait for the client's own limit, for a pause that the server has requested, and for a quota of the
/// server that is used up, or would be if every request under way counts. After a pause, or once a quota is full again,
/// no more requests are sent than the quota is known to allow, one if it is unknown, until a response shows that the
/// limit is over: otherwise all waiting requests would be sent at once, and refused again. Such a trial begins a new
/// generation of requests. One of an earlier generation, whose response has not arrived yet, neither takes the place of
/// the trial nor ends it.
///
/// Times are durations since the limiter was created.
struct RateLimitState: Sendable {
  enum Arrival: Equatable {
    case go
    case wait
    case refuse(RateLimiter.LimitError.Reason, after: Duration)
  }

  /// A request that no longer waits.
  struct Release: Equatable {
    let id: UInt64
    /// `nil` if it may be sent; otherwise how long it would have to wait, which is too long.
    let refusedFor: Duration?
  }

  private struct Waiting {
    let id: UInt64
    let deadline: Duration
    /// The end of the request's own time, at which its owner removes it.
    let ownDeadline: Duration
  }

  /// The name of the allowance that refusals establish; no field of a server can contain a line break.
  private static let refusals = "\n"

  private let rules: RateLimitRules
  private var window: SendWindow?
  private var pauseEnd: Duration?
  private var allowances: [String: RateLimitAllowance] = [:]
  /// The number of trials that have begun.
  private(set) var generation = 0
  /// The number of requests under way, by the generation in which they were sent.
  private(set) var sent: [Int: Int] = [:]
  private var line = KeyedQueue<UInt64, Waiting>()

  init(_ rules: RateLimitRules) {
    self.rules = rules
    window = rules.requests.map { SendWindow(limit: $0, period: rules.period) }
  }

  var waitingCount: Int { line.count }
  var underWay: Int { sent.values.reduce(0, +) }

  /// Returns whether there is no state to keep at all.
  func isBlank(at now: Duration) -> Bool { isUnused(at: now) && allowances.isEmpty && pauseEnd == nil }

  /// Returns whether only information of the server would be lost that has expired.
  func isUnused(at now: Duration) -> Bool {
    sent.isEmpty && line.isEmpty && (pauseEnd ?? now) <= now && window?.isIdle(at: now) != false
      && allowances.values.allSatisfy { ($0.reset ?? now) <= now }
  }

  /// Admits an arriving request if it need not wait; otherwise ``arrive(_:at:)`` has to be called. Whatever is admitted
  /// belongs to the current generation.
  ///
  /// - Parameter isInside: Whether it is part of a request that was admitted: it never waits.
  mutating func arriveIfOpen(at now: Duration, isInside: Bool = false) -> Arrival {
    settle(at: now)
    guard isInside || line.isEmpty && isOpen(at: now) else { return .wait }
    begin(at: now)
    return .go
  }

  /// Admits, refuses or enqueues an arriving request; `id` identifies it while it waits.
  ///
  /// - Parameter limit: The time that the request itself has; `nil` for no limit.
  mutating func arrive(_ id: UInt64, at now: Duration, within limit: Duration? = nil) -> Arrival {
    if arriveIfOpen(at: now) == .go { return .go }
    let wait = opening(position: line.count, at: now) - now
    let longest = min(limit ?? rules.maximumWait, rules.maximumWait)
    if wait > longest { return .refuse(.waitTooLong, after: wait) }
    if line.count >= rules.maximumWaiting { return .refuse(.tooManyWaiting, after: wait) }
    line.append(Waiting(id: id, deadline: now + rules.maximumWait, ownDeadline: now + longest), id: id)
    return .wait
  }

  mutating func leave(_ id: UInt64) { line.remove(id) }

  /// Records the response or failure of a request that was sent.
  ///
  /// - Parameters:
  ///   - report: `nil` for a failure, which reports nothing; the server may have counted the request.
  ///   - generation: The generation when the request was admitted.
  mutating func end(_ report: RateLimitReport?, of generation: Int, at now: Duration) {
    let others = sent[generation, default: 0] - 1
    sent[generation] = others > 0 ? others : nil
    if report?.isOfNothingSent == true { return }
    let quotas = report?.quotas ?? []
    for (name, allowance) in allowances where !quotas.contains(where: { $0.name == name }) {
      if allowance.reset != nil {
        allowances[name]?.remaining -= 1
      } else if let report, !report.isRefusal, generation >= allowance.firstGeneration {
        // It was a probe for whether there still is a limit, and there is none.
        allowances[name] = nil
      }
    }
    for quota in quotas {
      var newer = RateLimitAllowance(quota, at: now, longest: rules.longestPause)
      if newer.reset == nil { newer.firstGeneration = firstGeneration(of: quota.name, after: generation) }
      if allowances[quota.name]?.update(newer) == nil { allowances[quota.name] = newer }
    }
    // A server that reports other quotas each time must not fill the memory.
    if allowances.count > RateLimitReport.maximumQuotas {
      allowances = allowances.filter { name, _ in quotas.contains { $0.name == name } }
    }
    if let pause = report?.pause {
      pauseEnd = max(pauseEnd ?? .zero, now + min(max(.zero, pause), rules.longestPause))
    }
    guard let report, report.isRefusal else { return }
    // What is known of quotas does not explain a refusal without a time.
    let isUnexplained = report.pause == nil && !quotas.contains { $0.remaining <= 0 && $0.reset != nil }
    if allowances.isEmpty || isUnexplained { probe(after: generation) }
  }

  /// Removes and returns the requests that no longer wait, in order.
  mutating func release(at now: Duration) -> [Release] {
    settle(at: now)
    var released: [Release] = []
    while let first = line.first {
      if isOpen(at: now) {
        begin(at: now)
        released.append(Release(id: first.id, refusedFor: nil))
      } else {
        let opening = opening(at: now)
        guard opening > max(first.ownDeadline, now) || first.deadline <= now else { break }
        released.append(Release(id: first.id, refusedFor: opening - now))
      }
      line.popFirst()
    }
    return released
  }

  /// Returns when to call ``release(at:)`` if nothing happens before; `nil` while no request waits.
  func wake(at now: Duration) -> Duration? {
    guard let first = line.first else { return nil }
    var wake = opening(at: now)
    for allowance in allowances.values where isUsedUp(allowance) {
      // Without a reset, a response decides.
      wake = max(wake, allowance.reset ?? first.deadline)
    }
    return min(wake, first.deadline)
  }

  private mutating func settle(at now: Duration) {
    for name in allowances.keys where allowances[name]?.settle(at: now) == true {
      generation += 1
      allowances[name]?.firstGeneration = generation
    }
    if let end = pauseEnd, end <= now {
      pauseEnd = nil
      if allowances.isEmpty { probe(after: generation) }
    }
  }

  private mutating func probe(after generation: Int) {
    let first = firstGeneration(of: Self.refusals, after: generation)
    // It is known only that the server has refused requests: one request is sent as a probe.
    allowances[Self.refusals] = RateLimitAllowance(remaining: 1, firstGeneration: first)
  }

  /// Begins a trial, unless there is one that a request of the given generation is not part of.
  private mutating func firstGeneration(of name: String, after generation: Int) -> Int {
    if let allowance = allowances[name], allowance.reset == nil, generation < allowance.firstGeneration {
      return allowance.firstGeneration
    }
    self.generation += 1
    return self.generation
  }

  private func isOpen(at now: Duration) -> Bool {
    opening(at: now) <= now && !allowances.values.contains { isUsedUp($0) }
  }

  /// Returns whether the requests under way take all that is left. Those sent before a trial are deducted, too, but as
  /// they may take any time, one place remains for the trial: nothing else would end the wait.
  private func isUsedUp(_ allowance: RateLimitAllowance) -> Bool {
    guard allowance.reset == nil else { return allowance.remaining <= underWay }
    let own = sent.reduce(0) { $1.key >= allowance.firstGeneration ? $0 + $1.value : $0 }
    return own >= max(1, allowance.remaining - (underWay - own))
  }

  /// Returns the earliest known time for a request with `position` others ahead of it.
  private func opening(position: Int = 0, at now: Duration) -> Duration {
    var opening = max(now, pauseEnd ?? now)
    if let window { opening = max(opening, window.opening(position: position, at: now)) }
    for allowance in allowances.values where allowance.remaining <= 0 {
      if let reset = allowance.reset { opening = max(opening, reset) }
    }
    return opening
  }

  private mutating func begin(at now: Duration) {
    sent[generation, default: 0] += 1
    window?.record(now)
  }
}

/// What is left of one of a server's quotas, according to its responses.
struct RateLimitAllowance: Equatable, Sendable {
  /// The number of requests that may still be sent, as of the last response; those that are under way are deducted from
  /// it.
  var remaining: Int
  /// When the quota is full again; `nil` if that is unknown until the next response.
  var reset: Duration?
  var limit: Int?
  /// While there is no reset: the generation of the first requests that show whether the limit is over.
  var firstGeneration = 0

  /// Responses within seconds of each other report the same reset with a difference due to rounding.
  private static let tolerance = Duration.seconds(2)
}

extension RateLimitAllowance {
  /// - Parameter longest: The maximum time until its reset that is accepted.
  init(_ quota: RateLimitReport.Quota, at now: Duration, longest: Duration) {
    let reset = quota.reset.map { now + min(max($0, .zero), longest) }
    // Without a reset it would be unknown when to continue.
    self.init(remaining: reset == nil ? max(1, quota.remaining) : quota.remaining, reset: reset, limit: quota.limit)
  }

  /// Applies another response. Responses may arrive out of order: within one window the lowest number is the latest.
  mutating func update(_ newer: RateLimitAllowance) {
    if let reset, let newReset = newer.reset, newReset <= reset + Self.tolerance {
      remaining = min(remaining, newer.remaining)
      limit = newer.limit ?? limit
    } else {
      self = newer
    }
  }

  /// Starts a new window once the reset has been reached, and returns whether it has.
  mutating func settle(at now: Duration) -> Bool {
    guard let reset, reset <= now else { return false }
    self.reset = nil
    remaining = max(1, limit ?? 1)
    return true
  }
}

/// The parameters of a rate limiter, each limited so that computations with it cannot overflow.
struct RateLimitRules: Sendable {
  let requests: Int?
  let period: Duration
  let maximumWait: Duration
  let maximumWaiting: Int
  let longestPause: Duration

  init(
    requests: Int? = nil, period: Duration = .seconds(1), maximumWait: Duration = .seconds(60),
    maximumWaiting: Int = 1_000, longestPause: Duration = .seconds(300)
  ) {
    self.requests = requests.map { min(max(1, $0), 100_000) }
    self.period = period.sleepable
    self.maximumWait = maximumWait.sleepable
    self.maximumWaiting = min(max(0, maximumWaiting), 1_000_000)
    self.longestPause = longestPause.sleepable
  }
}

/// A sliding window over the times of the last requests, which limits their number in any period.
///
/// Not a token bucket, which allows twice as many within one period. Times are durations since a fixed start.
struct SendWindow: Sendable {
  private let limit: Int
  private let period: Duration
  // A ring buffer once it is full: the newest replaces the oldest.
  private var times: ContiguousArray<Duration> = []
  private var oldest = 0

  init(limit: Int, period: Duration) {
    self.limit = max(1, limit)
    self.period = period
  }

  /// Returns the earliest time for a request with `position` others ahead of it.
  func opening(position: Int = 0, at now: Duration) -> Duration {
    let laps = position / limit
    let before = times.count + position % limit - limit
    guard before >= 0 else { return now + period * laps }
    return max(now, time(before) + period) + period * laps
  }

  mutating func record(_ now: Duration) {
    if times.count < limit {
      times.append(now)
    } else {
      times[oldest] = now
      oldest = (oldest + 1) % limit
    }
  }

  /// Returns whether it delays no request, as if nothing had been sent.
  func isIdle(at now: Duration) -> Bool { times.isEmpty || time(times.count - 1) + period <= now }

  private func time(_ index: Int) -> Duration { times[(oldest + index) % times.count] }
}
