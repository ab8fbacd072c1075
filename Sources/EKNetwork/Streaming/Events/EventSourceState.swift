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
  /// Attempts in a row that have failed: no stream was opened.
  private var failures = 0
  /// Waits in a row without an opened stream between them.
  private var waits = 0
  private var isOpen = false
  private var hasReceived = false
  private var reconnectionTime: Duration?
  /// The ID of the last event, for `Last-Event-ID`.
  private(set) var lastEventID: String

  init(policy: EventReconnectPolicy, lastEventID: String = "") {
    self.policy = policy
    self.lastEventID = lastEventID
  }

  /// A stream has been opened, which is a success: a feed may be quiet for as long as it likes.
  mutating func opened() {
    isOpen = true
    hasReceived = false
    failures = 0
    waits = 0
  }

  /// An event has been handed on.
  mutating func received() { hasReceived = true }

  /// The connection has ended, or could not be made.
  ///
  /// - Parameters:
  ///   - error: Why; `nil` when the server ended it cleanly.
  ///   - parser: Where the stream stood, if there was one.
  ///   - retryAfter: What the server asks for.
  ///   - bodyIsReplayable: Whether the request can be sent again.
  ///   - random: A number from 0 to 1.
  mutating func lost(
    because error: (any Error)?, parser: EventStreamParser? = nil, retryAfter: Duration? = nil, bodyIsReplayable: Bool,
    random: Double
  ) -> Action {
    let wasOpen = isOpen
    isOpen = false
    if let parser {
      lastEventID = parser.lastEventID
      reconnectionTime = parser.reconnectionTime.map { max($0, Self.shortestReconnectionTime) } ?? reconnectionTime
    }
    if let error, !Self.isTransient(error) { return .fail(error) }
    guard bodyIsReplayable else { return error.map { .fail($0) } ?? .finish }
    waits += 1
    if !wasOpen { failures += 1 }
    if let maximum = policy.maximumFailures, failures > maximum {
      return .fail(error ?? URLError(.networkConnectionLost))
    }
    var delay = delay(random: random)
    // A server that opens streams and ends them at once, and asks for no delay, is not hammered.
    if wasOpen, !hasReceived { delay = max(delay, Self.shortestDelay) }
    return .reconnect(after: max(delay, min(retryAfter ?? .zero, policy.maximumDelay)))
  }

  private static let shortestDelay = Duration.milliseconds(100)
  /// The least that a server may name: with less, every client that it sends away is back at once.
  private static let shortestReconnectionTime = Duration.milliseconds(500)

  private func delay(random: Double) -> Duration {
    let base = max(.zero, reconnectionTime ?? policy.initialDelay)
    // The server has named the time itself, for a client that has lost nothing but the connection.
    if reconnectionTime != nil, waits == 1 { return base }
    let floor = max(base, Self.shortestDelay)
    let doublings = min(waits - 1, 30)
    let grown = floor.clampedNanoseconds.multipliedReportingOverflow(by: 1 << UInt64(doublings))
    let longest = max(policy.maximumDelay, base).clampedNanoseconds
    // What becomes a Duration is signed, and a Double rounds the largest number up.
    let full = min(grown.overflow ? longest : min(grown.partialValue, longest), UInt64(Int64.max))
    return .nanoseconds(Int64(clamping: UInt64(Double(full) * (1 - 0.5 * min(max(random, 0), 1)))))
  }

  /// Whether the error may be gone with the next attempt.
  private static func isTransient(_ error: any Error) -> Bool {
    !error.isCancellation && (RetryPolicy.isTransient(error) || error is any TemporaryRefusal)
  }
}
