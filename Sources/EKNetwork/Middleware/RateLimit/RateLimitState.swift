/// Who may send to an origin now, and who has to wait: in the order in which they came.
///
/// Three things forbid a request: the client's own limit, a pause that the server asked for, and a quota of the server
/// that is used up, or would be if every request under way counts. After a pause, or once a quota is full again, no more
/// are sent than the quota is known to allow, one if it is not known, until a response says that it is over: all who wait
/// would otherwise go at once, and be refused again.
///
/// Times are durations since the limiter was made.
struct RateLimitState: Sendable {
  enum Arrival: Equatable {
    case go
    case wait
    case refuse(RateLimiter.LimitError.Reason, after: Duration)
  }

  /// One that waits no longer.
  struct Release: Equatable {
    let id: UInt64
    /// `nil` if it may go; else how long it would have to wait, which is too long.
    let refusedFor: Duration?
  }

  private struct Waiting {
    let id: UInt64
    let deadline: Duration
  }

  private let rules: RateLimitRules
  private var window: SendWindow?
  private var pauseEnd: Duration?
  private var allowances: [String: RateLimitAllowance] = [:]
  private(set) var underWay = 0
  // A slice: its first is taken off without moving the others.
  private var line: ArraySlice<Waiting> = []

  init(_ rules: RateLimitRules) {
    self.rules = rules
    window = rules.requests.map { SendWindow(limit: $0, period: rules.period) }
  }

  var waitingCount: Int { line.count }

  /// Whether there is nothing to remember at all.
  func isBlank(at now: Duration) -> Bool { isUnused(at: now) && allowances.isEmpty && pauseEnd == nil }

  /// Whether nothing is lost but what the server has said of a time that is over.
  func isUnused(at now: Duration) -> Bool {
    underWay == 0 && line.isEmpty && (pauseEnd ?? now) <= now && window?.isIdle(at: now) != false
      && allowances.values.allSatisfy { ($0.reset ?? now) <= now }
  }

  // MARK: - What happens

  /// A request comes, which goes if it need not wait; else it has to come by ``arrive(_:at:)``.
  mutating func arriveIfOpen(at now: Duration) -> Arrival {
    settle(at: now)
    guard line.isEmpty, isOpen(at: now) else { return .wait }
    begin(at: now)
    return .go
  }

  /// A request comes; `id` names it while it waits.
  mutating func arrive(_ id: UInt64, at now: Duration) -> Arrival {
    if arriveIfOpen(at: now) == .go { return .go }
    let wait = opening(position: line.count, at: now) - now
    if wait > rules.maximumWait { return .refuse(.waitTooLong, after: wait) }
    if line.count >= rules.maximumWaiting { return .refuse(.tooManyWaiting, after: wait) }
    line.append(Waiting(id: id, deadline: now + rules.maximumWait))
    return .wait
  }

  /// One that waits gives up.
  mutating func leave(_ id: UInt64) {
    if let index = line.firstIndex(where: { $0.id == id }) { line.remove(at: index) }
  }

  /// A request that went has a response, or failed.
  ///
  /// - Parameter report: `nil` for a failure, which says nothing; the server may have counted the request.
  mutating func end(_ report: RateLimitReport?, at now: Duration) {
    underWay -= 1
    if report?.isOfNothingSent == true { return }
    let quotas = report?.quotas ?? []
    for (name, allowance) in allowances where !quotas.contains(where: { $0.name == name }) {
      if allowance.reset != nil {
        allowances[name]?.remaining -= 1
      } else if let report, !report.isRefusal {
        // It was sent to see whether there still is a limit, and there is none.
        allowances[name] = nil
      }
    }
    for quota in quotas {
      let newer = RateLimitAllowance(quota, at: now, longest: rules.longestPause)
      if allowances[quota.name]?.update(newer) == nil { allowances[quota.name] = newer }
    }
    // A server that names others each time must not fill the memory.
    if allowances.count > RateLimitReport.maximumQuotas {
      allowances = allowances.filter { name, _ in quotas.contains { $0.name == name } }
    }
    if let pause = report?.pause {
      pauseEnd = max(pauseEnd ?? .zero, now + min(max(.zero, pause), rules.longestPause))
    }
    if report?.isRefusal == true, allowances.isEmpty { allowances[""] = .probe }
  }

  /// Those who wait no longer, in their order.
  mutating func release(at now: Duration) -> [Release] {
    settle(at: now)
    var released: [Release] = []
    while let first = line.first {
      if isOpen(at: now) {
        begin(at: now)
        released.append(Release(id: first.id, refusedFor: nil))
      } else {
        let opening = opening(at: now)
        guard opening > first.deadline || first.deadline <= now else { break }
        released.append(Release(id: first.id, refusedFor: opening - now))
      }
      line.removeFirst()
    }
    return released
  }

  /// When ``release(at:)`` is to be called if nothing happens before; `nil` while none waits.
  func wake(at now: Duration) -> Duration? {
    guard let first = line.first else { return nil }
    var wake = opening(at: now)
    for allowance in allowances.values where allowance.remaining <= underWay {
      // Else a response decides.
      wake = max(wake, allowance.reset ?? first.deadline)
    }
    return min(wake, first.deadline)
  }

  // MARK: - The rule

  private mutating func settle(at now: Duration) {
    for name in allowances.keys { allowances[name]?.settle(at: now) }
    if let end = pauseEnd, end <= now {
      pauseEnd = nil
      if allowances.isEmpty { allowances[""] = .probe }
    }
  }

  private func isOpen(at now: Duration) -> Bool {
    opening(at: now) <= now && allowances.values.allSatisfy { $0.remaining > underWay }
  }

  /// The earliest time that can be told for a request that `position` others go before.
  private func opening(position: Int = 0, at now: Duration) -> Duration {
    var opening = max(now, pauseEnd ?? now)
    if let window { opening = max(opening, window.opening(position: position, at: now)) }
    for allowance in allowances.values where allowance.remaining <= 0 {
      if let reset = allowance.reset { opening = max(opening, reset) }
    }
    return opening
  }

  private mutating func begin(at now: Duration) {
    underWay += 1
    window?.record(now)
  }
}
