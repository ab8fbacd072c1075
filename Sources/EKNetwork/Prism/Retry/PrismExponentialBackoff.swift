/// A retry policy that doubles the delay each time, and adds a little jitter, so that clients that failed together do
/// not retry together.
///
/// The delay is `min(baseDelay × 2^attempt + jitter, maxDelay)`, the jitter between 0 and 0.5 seconds.
public struct PrismExponentialBackoff: PrismRetryPolicy {
  /// The delay before the first retry, without jitter. Defaults to one second.
  public let baseDelay: Duration
  /// The longest delay, jitter included. Defaults to 30 seconds.
  public let maxDelay: Duration
  /// The maximum number of retries. Defaults to 3.
  public let maxAttempts: Int

  /// Returns a number from 0 to 1.
  let random: @Sendable () -> Double

  /// Creates a policy; negative values count as zero.
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

  /// Returns whether fewer than ``maxAttempts`` retries were made and the error is transient: no connection, 408, 425,
  /// 429, 5xx other than 501 and 505, or a response that is not valid HTTP. Other errors are not retried.
  ///
  /// A request of an adapter whose method is not idempotent (RFC 9110 §9.2.2), and which has no `Idempotency-Key`, is
  /// repeated only if it cannot have been processed: there was no connection, or the server responded with 408, 425,
  /// 429 or 503, without a redirect before that changed the method to GET.
  public func shouldRetry(for error: Error, attempt: Int) -> Bool {
    attempt < maxAttempts && PrismNetworkError.isTransient(error)
  }

  /// Returns the delay according to the formula.
  public func delay(for attempt: Int) -> Duration {
    // Floating point does not overflow: a result that is too large is infinite, and longer than the longest delay.
    let base = baseDelay.timeInterval
    let full = (base > 0 ? base * Self.powerOfTwo(attempt) : 0) + 0.5 * min(max(random(), 0), 1)
    return full < maxDelay.timeInterval ? min(.seconds(full), maxDelay) : maxDelay
  }

  /// Returns a power of two; 2¹⁰²³ is the largest finite one.
  private static func powerOfTwo(_ exponent: Int) -> Double {
    Double(sign: .plus, exponent: min(max(exponent, 0), 1023), significand: 1)
  }
}
