import Foundation

/// Decides what a subscription does when its connection is lost, and which event ID it resumes after.
struct EventSourceState {
  enum Action {
    case reconnect(after: Duration)
    case reconnectNow
    case fail(any Error)
    /// The subscription ends without an error.
    case finish
  }

  private let policy: EventReconnectPolicy
  /// The number of consecutive failed attempts, which did not open a stream.
  private var failures = 0
  /// The number of consecutive waits without an opened stream between them.
  private var waits = 0
  private var isOpen = false
  private var hasOpened = false
  private var reconnectionTime: Duration?
  /// The ID of the last event, for `Last-Event-ID`; `nil` if there was none, and empty if the server has reset it.
  private(set) var lastEventID: String?

  /// Whether the request may be repeated after its response is complete.
  var isIdempotent: Bool

  init(policy: EventReconnectPolicy, lastEventID: String = "", isIdempotent: Bool = true) {
    self.policy = policy
    self.isIdempotent = isIdempotent
    self.lastEventID = lastEventID.isEmpty ? nil : lastEventID
  }

  /// Records that a stream has opened. That is a success even without an event: a feed may be quiet for any time.
  mutating func opened() {
    isOpen = true
    hasOpened = true
    failures = 0
    waits = 0
  }

  /// Records that the owner has closed the open stream in order to reconnect.
  mutating func interrupted(parser: EventStreamParser?) {
    isOpen = false
    resume(after: parser)
  }

  private mutating func resume(after parser: EventStreamParser?) {
    guard let parser else { return }
    lastEventID = parser.lastEventID
    reconnectionTime = parser.reconnectionTime.map { max($0, Self.shortestReconnectionTime) } ?? reconnectionTime
  }

  /// Returns what to do after a connection has ended or could not be opened.
  ///
  /// - Parameters:
  ///   - error: The reason; `nil` if the server ended it cleanly.
  ///   - wasCarriedOut: Whether a redirect has changed the method, because the request was carried out.
  mutating func lost(
    because error: (any Error)?, parser: EventStreamParser? = nil, retryAfter: Duration? = nil,
    wasCarriedOut: Bool = false, bodyIsReplayable: Bool, random: Double
  ) -> Action {
    let wasOpen = isOpen
    isOpen = false
    resume(after: parser)
    var error = error
    if wasOpen, let cause = error, TruncatedContentError.isCause(of: cause) {
      // A server that dies, or ends a stream, does not complete its compression.
      error = URLError(.networkConnectionLost, userInfo: [NSUnderlyingErrorKey: cause])
    }
    let repeatability =
      error.map { Repeatability(after: $0, isIdempotent: isIdempotent, wasCarriedOut: wasCarriedOut) }
      ?? .completed(isIdempotent: isIdempotent)
    guard bodyIsReplayable, !repeatability.isForbidden, isTransient(repeatability.kind, error) else {
      return error.map { .fail($0) } ?? .finish
    }
    waits += 1
    if !wasOpen { failures += 1 }
    if let maximum = policy.maximumFailures, failures > max(maximum, 0) {
      return .fail(error ?? URLError(.networkConnectionLost))
    }
    // Do not hammer a server that opens streams and ends them at once without requesting a delay.
    let delay = max(delay(random: random), Self.shortestDelay)
    return .reconnect(after: max(delay, min(retryAfter ?? .zero, policy.maximumDelay)))
  }

  private static let shortestDelay = Duration.milliseconds(100)
  /// The minimum for a server's `retry`: with less, all clients that it disconnects would reconnect at once.
  private static let shortestReconnectionTime = Duration.milliseconds(500)

  private func delay(random: Double) -> Duration {
    let base = max(.zero, reconnectionTime ?? policy.initialDelay)
    // The server has set the delay itself, for a client that has lost only its connection.
    if reconnectionTime != nil, waits == 1 { return base }
    let first = max(base, Self.shortestDelay).sleepable
    let full = min(first * (1 << min(waits - 1, 30)), max(first, policy.maximumDelay.sleepable))
    return full * (1 - 0.5 * min(max(random, 0), 1))
  }

  /// Returns whether another attempt may succeed after a failure, or a clean end.
  private func isTransient(_ kind: FailureKind?, _ error: (any Error)?) -> Bool {
    switch kind {
    case nil, .temporary, .refused: true
    case .unclear where hasOpened: FailureKind.isTemporaryOnceConnected(error)
    case .serverError, .unauthorized, .unclear, .permanent, .completed, .cancelled: false
    }
  }
}

/// Decides how long an event stream may be silent before its connection counts as lost.
///
/// Servers that keep a quiet stream alive send comments at regular intervals (WHATWG HTML §9.2.7). If they do, a
/// silence of several intervals indicates a lost connection; if they do not, silence means little.
struct HeartbeatState: Sendable {
  /// The maximum silence without a known heartbeat.
  static let quiet = Duration.seconds(300)
  /// The lower bound of the maximum silence: a busy server may be late.
  static let shortest = Duration.seconds(30)
  private static let missedBeats = 3

  /// Comments at shorter intervals count as one heartbeat: a server may send several at once.
  private static let shortestPace = Duration.seconds(1)

  private let fixed: Duration?
  private var heartbeats = 0
  private var longestPause = Duration.zero
  /// The time since the last heartbeat; `nil` before the first one.
  private var sinceHeartbeat: Duration?

  /// - Parameter fixed: The maximum silence, if it does not depend on heartbeats.
  init(fixed: Duration? = nil) { self.fixed = fixed.map { max($0, .milliseconds(1)).sleepable } }

  /// Records that bytes have arrived after a pause.
  mutating func received(after pause: Duration) {
    longestPause = max(longestPause, pause)
    sinceHeartbeat? += pause
  }

  /// Records that they contained a comment.
  mutating func receivedComment() {
    if let sinceHeartbeat, sinceHeartbeat < Self.shortestPace { return }
    sinceHeartbeat = .zero
    heartbeats += 1
  }

  /// The lower bound of ``allowance``.
  var shortestAllowance: Duration { fixed ?? Self.shortest }

  /// The maximum length of the next silence.
  var allowance: Duration {
    if let fixed { return fixed }
    // Three heartbeats have two complete pauses between them.
    guard heartbeats >= Self.missedBeats else { return Self.quiet }
    return min(Self.quiet, max(Self.shortest, longestPause * Self.missedBeats))
  }
}
