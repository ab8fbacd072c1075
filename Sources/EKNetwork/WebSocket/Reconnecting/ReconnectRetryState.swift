import Foundation

/// Decides after each lost connection whether and when to reconnect.
struct ReconnectRetryState {
  enum Action {
    case retry(after: Duration)
    /// Stops reconnecting: `nil` for a clean end, otherwise the error.
    case stop((any Error)?)
  }

  private enum Verdict { case temporary, final, done }

  private let policy: WebSocketReconnectPolicy
  private let backoff: RetryBackoff
  private var failures = 0

  init(policy: WebSocketReconnectPolicy) {
    self.policy = policy
    backoff = .exponential(
      base: max(policy.initialDelay, .zero) / .seconds(1), maximum: max(policy.maximumDelay, .zero) / .seconds(1),
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
    return .retry(after: max(own, min(Self.retryAfter(error, now: now) ?? .zero, policy.maximumDelay)))
  }

  private func verdict(on error: any Error) -> Verdict {
    guard let error = error as? WebSocketError else {
      return !error.isCancellation && RetryPolicy.isTransient(error) ? .temporary : .final
    }
    switch error {
    case .closed(let code, _):
      guard policy.finalCodes.contains(code) else { return .temporary }
      return code == .normalClosure ? .done : .final
    case .protocolViolation(let code, _): return policy.finalCodes.contains(code) ? .final : .temporary
    case .refused(let status, _): return Self.isTransient(status) ? .temporary : .final
    case .timedOut, .connectionLost: return .temporary
    case .invalidURL, .invalidHandshake, .invalidControlFrame, .sendQueueFull: return .final
    }
  }

  /// Returns whether another attempt may succeed. Redirects are not followed, and the client would repeat its own
  /// error.
  private static func isTransient(_ status: Int) -> Bool {
    switch status {
    case 501, 505: false
    case 500...599: true
    default: RetryPolicy.transientStatusCodes.contains(status)
    }
  }

  private static func retryAfter(_ error: any Error, now: Date) -> Duration? {
    guard case .refused(_, let headers)? = error as? WebSocketError, let value = headers["retry-after"] else {
      return RetryAfter.delay(in: error, now: now)
    }
    return RetryAfter(value, now: now)?.delay(from: now)
  }
}
