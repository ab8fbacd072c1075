import Foundation

/// What a failed delivery means for the request.
enum OfflineFailure: Equatable {
  /// Another attempt may succeed.
  case temporary(retryAfter: Duration?)
  /// Middleware refused the request for a limited time, and did not send it.
  case refused(retryAfter: Duration)
  /// No attempt will ever succeed.
  case permanent
  /// The flush was cancelled.
  case cancelled

  init(_ error: any Error, now: Date = Date()) {
    // Each request is sent with an `Idempotency-Key`.
    let repeatability = Repeatability(after: error, isIdempotent: true)
    switch repeatability.kind {
    case .cancelled: self = .cancelled
    case .refused(let delay): self = .refused(retryAfter: delay)
    case _ where repeatability.isForbidden, .permanent: self = .permanent
    default: self = .temporary(retryAfter: RetryAfter.delay(in: error, now: now))
    }
  }

  /// Whether it counts as a failed attempt of the request.
  var isFailedAttempt: Bool {
    if case .temporary = self { true } else { false }
  }

  /// The minimum time until the next attempt, if it is known.
  var retryAfter: Duration? {
    switch self {
    case .temporary(let delay): delay
    case .refused(let delay): delay
    case .permanent, .cancelled: nil
    }
  }
}
