/// What is left of one of a server's quotas, according to its responses.
struct RateLimitAllowance: Equatable, Sendable {
  /// The number of requests that may still be sent, as of the last response; those that are under way are deducted from
  /// it.
  var remaining: Int
  /// When the quota is full again; `nil` if that is unknown until the next response.
  var reset: Duration?
  /// The whole quota.
  var limit: Int?

  /// Responses within seconds of each other report the same reset with a difference due to rounding.
  private static let tolerance = Duration.seconds(2)

  /// The allowance if it is known only that the server has refused requests: one request is sent as a probe.
  static let probe = RateLimitAllowance(remaining: 1)

  init(remaining: Int, reset: Duration? = nil, limit: Int? = nil) {
    self.remaining = remaining
    self.reset = reset
    self.limit = limit
  }

  /// - Parameters:
  ///   - quota: The quota that a response reports.
  ///   - longest: The maximum time until its reset that is accepted.
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

  /// Starts a new window once the reset has been reached.
  mutating func settle(at now: Duration) {
    guard let reset, reset <= now else { return }
    self.reset = nil
    remaining = max(1, limit ?? 1)
  }
}
