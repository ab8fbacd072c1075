/// Whether a connection of HTTP/2 can be trusted with another request, and whether its server is at work or only keeps the
/// client busy. Times are nanoseconds of the loop's clock.
struct ConnectionHealth {
  /// How long a connection may be quiet and still be trusted with a request that cannot be sent again.
  static let trustedQuiet: UInt64 = 10 * 1_000_000_000
  /// How long a server must have said nothing before it is sent a PING because a request was given up. Some take offence at PINGs.
  static let suspiciousQuiet: UInt64 = 1_000_000_000
  /// How long a server may take to acknowledge a PING (RFC 9113 §6.7).
  static let pingTimeout: UInt64 = 2 * 1_000_000_000
  /// The number of frames in one interval that may bring nothing: SETTINGS, PING, empty DATA, CONTINUATION and others.
  static let maximumIdleFrames = 5_000
  /// The same in bytes, also of frames that are unknown and ignored (RFC 9113 §4.1).
  static let maximumIdleBytes = 1024 * 1024
  static let interval: UInt64 = 10 * 1_000_000_000

  /// ``trustedQuiet``, or less for tests.
  private let trustedQuiet: UInt64
  /// When something was last received.
  private var lastReceived: UInt64
  /// When a PING was sent that has not been acknowledged.
  private(set) var pinged: UInt64?
  private var idleFrames = 0
  private var idleBytes = 0
  /// The bytes of abandoned streams that may still arrive.
  private var ignoredBytes = 0
  /// How many of those the bytes have taken that are being handled.
  private var takenBytes = 0
  private var isIgnoring = false
  private var intervalStart: UInt64

  init(now: UInt64, trustedQuiet: UInt64 = Self.trustedQuiet) {
    self.trustedQuiet = trustedQuiet
    lastReceived = now
    intervalStart = now
  }

  /// When a PING has to be acknowledged; `nil` if there is none.
  var pingDeadline: UInt64? { pinged?.addingClamped(Self.pingTimeout) }

  /// Whether a request has to wait for a PING to be acknowledged. One that may be sent again need not.
  func mustPing(isIdempotent: Bool, now: UInt64) -> Bool {
    pinged != nil || !isIdempotent && now >= lastReceived.addingClamped(trustedQuiet)
  }

  /// Whether the server has said nothing for a while since a request was sent.
  func isSilent(since begun: UInt64, now: UInt64) -> Bool {
    lastReceived < begun && now >= begun.addingClamped(Self.suspiciousQuiet)
  }

  /// Notes that a PING is sent. Returns `false` if one is on its way.
  mutating func pings(now: UInt64) -> Bool {
    guard pinged == nil else { return false }
    pinged = now
    return true
  }

  mutating func acknowledged() { pinged = nil }

  /// Whether the server floods the connection.
  var isFlooded: Bool { idleFrames > Self.maximumIdleFrames || idleBytes > Self.maximumIdleBytes }

  mutating func received(_ count: Int, now: UInt64) {
    lastReceived = now
    if now >= intervalStart.addingClamped(Self.interval) {
      intervalStart = now
      progressed()
    }
    isIgnoring = ignoredBytes > 0
    takenBytes = min(count, ignoredBytes)
    ignoredBytes -= takenBytes
    idleBytes += count - takenBytes
  }

  /// Notes that a stream is abandoned to which the server may send that much before it knows.
  mutating func ignores(_ count: Int) { ignoredBytes = min(ignoredBytes + count, ReceiveWindow.connection) }

  /// Notes a frame.
  mutating func frame() { if !isIgnoring { idleFrames += 1 } }

  /// Notes that a request or a response has got on.
  ///
  /// - Parameter count: The bytes of a response among those that are being handled. They come between those of abandoned
  ///   streams, and are none of them.
  mutating func progressed(by count: Int = 0) {
    (idleFrames, idleBytes) = (0, 0)
    let returned = min(count, takenBytes)
    takenBytes -= returned
    ignoredBytes += returned
  }
}
