/// How long a stream of events may be silent before its connection counts as lost.
///
/// Servers that keep a quiet stream alive send comments at a regular pace (WHATWG HTML §9.2.7). Where they do, a silence of
/// several times their pace is a lost connection; where they do not, silence means little.
struct HeartbeatState: Sendable {
  /// The silence that is allowed where no heartbeat is known.
  static let quiet = Duration.seconds(300)
  /// The least that is allowed: a busy server may be late.
  static let shortest = Duration.seconds(30)
  private static let missedBeats = 3

  /// Comments that come closer together are one heartbeat: a server may send several at once.
  private static let shortestPace = Duration.seconds(1)

  private let fixed: Duration?
  private var heartbeats = 0
  private var longestPause = Duration.zero
  /// The time since the last heartbeat; `nil` before the first one.
  private var sinceHeartbeat: Duration?

  /// - Parameter fixed: The silence that is allowed, if it does not depend on heartbeats.
  init(fixed: Duration? = nil) { self.fixed = fixed }

  /// Something has come, after a pause.
  mutating func received(after pause: Duration) {
    longestPause = max(longestPause, pause)
    sinceHeartbeat? += pause
  }

  /// A comment was among it.
  mutating func heard() {
    if let sinceHeartbeat, sinceHeartbeat < Self.shortestPace { return }
    sinceHeartbeat = .zero
    heartbeats += 1
  }

  /// The least that ``allowance`` will ever be.
  var shortestAllowance: Duration { fixed ?? Self.shortest }

  /// How long the next silence may be.
  var allowance: Duration {
    if let fixed { return fixed }
    // From the third on there are two whole pauses between them.
    guard heartbeats >= Self.missedBeats else { return Self.quiet }
    return min(Self.quiet, max(Self.shortest, longestPause * Self.missedBeats))
  }
}
