import Foundation

/// What a subscription does when its connection is lost, and what it asks the server for when it is back.
struct EventSourceState {
  enum Action {
    case reconnect(after: Duration)
    case fail(any Error)
    /// The subscription is over, and nothing is wrong.
    case finish
  }

  private let policy: EventReconnectPolicy
  private var failures = 0
  private var reconnectionTime: Duration?
  /// The ID of the last event, for `Last-Event-ID`.
  private(set) var lastEventID = ""

  init(policy: EventReconnectPolicy) { self.policy = policy }

  /// An event has been handed on.
  mutating func received() { failures = 0 }

  /// The connection has ended, or could not be made.
  ///
  /// - Parameters:
  ///   - error: Why; `nil` when the server ended it in good order.
  ///   - parser: Where the stream stood, if there was one.
  ///   - retryAfter: What the server asks for.
  ///   - bodyIsReplayable: Whether the request can be sent again.
  ///   - random: A number from 0 to 1.
  mutating func lost(
    because error: (any Error)?, parser: EventStreamParser? = nil, retryAfter: Duration? = nil, bodyIsReplayable: Bool,
    random: Double
  ) -> Action {
    if let parser {
      lastEventID = parser.lastEventID
      reconnectionTime = parser.reconnectionTime ?? reconnectionTime
    }
    if let error, !Self.isPassing(error) { return .fail(error) }
    guard bodyIsReplayable else { return error.map { .fail($0) } ?? .finish }
    failures += 1
    if let maximum = policy.maximumFailures, failures > maximum {
      return .fail(error ?? URLError(.networkConnectionLost))
    }
    return .reconnect(after: max(delay(random: random), min(retryAfter ?? .zero, policy.maximumDelay)))
  }

  private func delay(random: Double) -> Duration {
    let base = max(.zero, reconnectionTime ?? policy.initialDelay)
    // The server has named the time itself, for a client that has lost nothing but the connection.
    if reconnectionTime != nil, failures == 1 { return base }
    let floor = max(base, .milliseconds(100))
    let doublings = min(failures - 1, 30)
    let grown = floor.clampedNanoseconds.multipliedReportingOverflow(by: 1 << UInt64(doublings))
    let longest = max(policy.maximumDelay, base).clampedNanoseconds
    // What becomes a Duration is signed, and a Double rounds the largest number up.
    let full = min(grown.overflow ? longest : min(grown.partialValue, longest), UInt64(Int64.max))
    return .nanoseconds(Int64(clamping: UInt64(Double(full) * (1 - 0.5 * min(max(random, 0), 1)))))
  }

  /// Whether the error may be gone with the next attempt.
  private static func isPassing(_ error: any Error) -> Bool {
    !error.isCancellation && RetryPolicy.isTransient(error)
  }
}
