/// The parameters of a rate limiter, each limited so that computations with it cannot overflow.
struct RateLimitRules: Sendable {
  let requests: Int?
  let period: Duration
  let maximumWait: Duration
  let maximumWaiting: Int
  let longestPause: Duration

  private static let year = Duration.seconds(31_536_000)

  init(
    requests: Int? = nil, period: Duration = .seconds(1), maximumWait: Duration = .seconds(60),
    maximumWaiting: Int = 1_000, longestPause: Duration = .seconds(300)
  ) {
    self.requests = requests.map { min(max(1, $0), 100_000) }
    self.period = min(max(.zero, period), Self.year)
    self.maximumWait = min(max(.zero, maximumWait), Self.year)
    self.maximumWaiting = min(max(0, maximumWaiting), 1_000_000)
    self.longestPause = min(max(.zero, longestPause), Self.year)
  }
}
