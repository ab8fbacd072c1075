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
