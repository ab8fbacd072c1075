/// Doubles the delay each time, and adds a little jitter, so that clients that failed together do not return together.
///
/// The delay is `min(baseDelay × 2^attempt + jitter, maxDelay)`, the jitter between 0 and 0.5 seconds.
public struct PrismExponentialBackoff: PrismRetryPolicy {
  /// The delay before the first retry, without jitter. Defaults to a second.
  public let baseDelay: Duration
  /// The longest delay, jitter included. Defaults to 30 seconds.
  public let maxDelay: Duration
  /// How many retries there are. Defaults to 3.
  public let maxAttempts: Int

  /// Gives a number from 0 to 1.
  let random: @Sendable () -> Double

  /// A policy; negative values count as zero.
  public init(baseDelay: Duration = .seconds(1), maxDelay: Duration = .seconds(30), maxAttempts: Int = 3) {
    self.init(
      baseDelay: baseDelay, maxDelay: maxDelay, maxAttempts: maxAttempts, random: { Double.random(in: 0...1) })
  }

  init(baseDelay: Duration, maxDelay: Duration, maxAttempts: Int, random: @escaping @Sendable () -> Double) {
    self.baseDelay = max(baseDelay, .zero)
    self.maxDelay = max(maxDelay, .zero)
    self.maxAttempts = max(maxAttempts, 0)
    self.random = random
  }

  /// Whether fewer than ``maxAttempts`` retries were made, for an error that another attempt may not meet: no
  /// connection, 408, 425, 429, 5xx, or nothing that is HTTP in the place of a response. Everything else is as it is.
  ///
  /// What an adapter sends by a method that is not idempotent (RFC 9110 §9.2.2), and without an `Idempotency-Key`, is
  /// repeated only where it cannot have been carried out: there was no connection, or the server said so by 408, 425, 429
  /// or 503.
  public func shouldRetry(for error: Error, attempt: Int) -> Bool {
    attempt < maxAttempts && PrismNetworkError.isTransient(error)
  }

  /// The delay by the formula.
  public func delay(for attempt: Int) -> Duration {
    // In floating point nothing overflows: what is too large is infinite, and longer than the longest delay.
    let base = baseDelay.timeInterval
    let full = (base > 0 ? base * Self.powerOfTwo(attempt) : 0) + 0.5 * min(max(random(), 0), 1)
    return full < maxDelay.timeInterval ? min(.seconds(full), maxDelay) : maxDelay
  }

  /// 2¹⁰²³ is the last power of two that is finite.
  private static func powerOfTwo(_ exponent: Int) -> Double {
    Double(sign: .plus, exponent: min(max(exponent, 0), 1023), significand: 1)
  }
}
