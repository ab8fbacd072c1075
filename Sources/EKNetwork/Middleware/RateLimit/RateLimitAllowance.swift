/// What a server has left of one of its quotas, as far as its responses have said.
struct RateLimitAllowance: Equatable, Sendable {
  /// Requests that may still be sent, counted when the last response said so: those that are under way come off it.
  var remaining: Int
  /// When the quota is full again; `nil` if that is unknown: the next response has to say.
  var reset: Duration?
  /// The whole quota.
  var limit: Int?

  /// Responses within seconds of each other name the same reset with a difference that comes of rounding.
  private static let tolerance = Duration.seconds(2)

  /// Nothing is known but that the server had enough: one request is sent to see.
  static let probe = RateLimitAllowance(remaining: 1)

  init(remaining: Int, reset: Duration? = nil, limit: Int? = nil) {
    self.remaining = remaining
    self.reset = reset
    self.limit = limit
  }

  /// - Parameters:
  ///   - quota: What a response says.
  ///   - longest: The most of its time that is believed.
  init(_ quota: RateLimitReport.Quota, at now: Duration, longest: Duration) {
    let reset = quota.reset.map { now + min(max($0, .zero), longest) }
    // Without a time it would be unknown when to go on.
    self.init(remaining: reset == nil ? max(1, quota.remaining) : quota.remaining, reset: reset, limit: quota.limit)
  }

  /// A later response. Responses overtake each other: within one window the lowest number is the last.
  mutating func update(_ newer: RateLimitAllowance) {
    if let reset, let newReset = newer.reset, newReset <= reset + Self.tolerance {
      remaining = min(remaining, newer.remaining)
      limit = newer.limit ?? limit
    } else {
      self = newer
    }
  }

  /// Starts a fresh window when the time has come.
  mutating func settle(at now: Duration) {
    guard let reset, reset <= now else { return }
    self.reset = nil
    remaining = max(1, limit ?? 1)
  }
}
