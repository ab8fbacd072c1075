import Foundation

/// Decides after each lost connection whether and when to reconnect.
struct ReconnectRetryState {
  enum Action {
    case retry(after: Duration)
    /// Stops reconnecting: `nil` for a clean end, otherwise the error.
    case stop((any Error)?)
  }

  private enum Verdict { case temporary, final, done }

  /// With less, a server that refuses connections at once would keep a processor busy.
  private static let shortestDelay = Duration.milliseconds(100)

  private let policy: WebSocketReconnectPolicy
  private let backoff: RetryBackoff
  private var failures = 0

  init(policy: WebSocketReconnectPolicy) {
    var policy = policy
    policy.maximumDelay = max(policy.maximumDelay, Self.shortestDelay).sleepable
    policy.maximumFailures = policy.maximumFailures.map { max(0, $0) }
    self.policy = policy
    backoff = .exponential(
      base: max(policy.initialDelay, Self.shortestDelay).timeInterval, maximum: policy.maximumDelay.timeInterval,
      jitter: 0.5)
  }

  /// Resets the failures, because a message has arrived.
  mutating func received() { failures = 0 }

  /// Returns what to do after a connection has ended or could not be opened.
  ///
  /// - Parameters:
  ///   - error: The reason.
  ///   - lasted: How long the connection was open; `nil` if it never was.
  ///   - now: The date that a date in `Retry-After` is compared with.
  mutating func lost(because error: any Error, after lasted: Duration? = nil, now: Date) -> Action {
    switch verdict(on: error) {
    case .done: return .stop(nil)
    case .final: return .stop(error)
    case .temporary: break
    }
    // An idle connection receives no message, and yet a server that accepts connections and drops them at once must not
    // be hammered.
    if let lasted, lasted >= policy.maximumDelay { failures = 0 }
    failures += 1
    if let maximum = policy.maximumFailures, failures > maximum { return .stop(error) }
    let own = backoff.delay(beforeRetry: failures - 1, random: policy.random)
    return .retry(after: max(own, min(RetryAfter.delay(in: error, now: now) ?? .zero, policy.maximumDelay)))
  }

  private func verdict(on error: any Error) -> Verdict {
    switch error as? WebSocketError {
    case .closed(let code, _)?:
      guard policy.finalCodes.contains(code) else { return .temporary }
      return code == .normalClosure ? .done : .final
    case .protocolViolation(let code, _)?: return policy.finalCodes.contains(code) ? .final : .temporary
    default: break
    }
    // A handshake is a GET.
    let repeatability = Repeatability(after: error, isIdempotent: true)
    switch repeatability.kind {
    case _ where repeatability.isForbidden: return .final
    case .temporary, .serverError, .refused: return .temporary
    default: return .final
    }
  }
}
