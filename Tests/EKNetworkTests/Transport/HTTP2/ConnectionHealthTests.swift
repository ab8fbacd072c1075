import Testing

@testable import EKNetwork

struct ConnectionHealthTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func quietConnectionIsAskedBeforeAnUnsafeRequest() {
    var health = ConnectionHealth(now: Self.second)
    let quiet = Self.second + ConnectionHealth.trustedQuiet
    #expect(!health.mustPing(isIdempotent: false, now: quiet - 1))
    #expect(health.mustPing(isIdempotent: false, now: quiet))
    #expect(!health.mustPing(isIdempotent: true, now: quiet))
    health.received(1, now: quiet)
    #expect(!health.mustPing(isIdempotent: false, now: quiet + 1))
  }

  @Test func serverThatSaysNothingIsSilent() {
    var health = ConnectionHealth(now: 5)
    let later = 10 + ConnectionHealth.suspiciousQuiet
    #expect(!health.isSilent(since: 10, now: later - 1))
    #expect(health.isSilent(since: 10, now: later))
    health.received(1, now: 10)
    #expect(!health.isSilent(since: 10, now: later))
  }

  @Test func oneQuestionAtATime() {
    var health = ConnectionHealth(now: 0)
    #expect(health.pingDeadline == nil)
    do { let result = health.pings(now: 5); #expect(result) }
    do { let result = health.pings(now: 6); #expect(!result) }
    #expect(health.pingDeadline == 5 + ConnectionHealth.pingTimeout)
    // Until it is acknowledged, nobody trusts the connection.
    #expect(health.mustPing(isIdempotent: true, now: 6))
    health.acknowledged()
    #expect(health.pingDeadline == nil)
    #expect(!health.mustPing(isIdempotent: true, now: 7))
  }

  @Test func framesAndBytesThatBringNothingAreLimited() {
    var (frames, bytes) = (ConnectionHealth(now: 0), ConnectionHealth(now: 0))
    for _ in 0..<ConnectionHealth.maximumIdleFrames { frames.frame() }
    bytes.received(ConnectionHealth.maximumIdleBytes, now: 1)
    #expect(!frames.isFlooded && !bytes.isFlooded)
    frames.frame()
    bytes.received(1, now: 1)
    #expect(frames.isFlooded && bytes.isFlooded)
  }

  @Test func progressAndTimeForgive() {
    var health = ConnectionHealth(now: 0)
    for _ in 0..<10 {
      for _ in 0..<ConnectionHealth.maximumIdleFrames { health.frame() }
      health.received(ConnectionHealth.maximumIdleBytes, now: 1)
      #expect(!health.isFlooded)
      health.progressed()
    }
    for _ in 0..<ConnectionHealth.maximumIdleFrames { health.frame() }
    health.received(1, now: ConnectionHealth.interval)
    health.frame()
    #expect(!health.isFlooded)
  }

  /// RFC 9113 §5.1: after a reset the server may send what it has begun to.
  @Test func dataOfAbandonedStreamsIsNoFlood() {
    var health = ConnectionHealth(now: 0)
    health.ignores(4 * ConnectionHealth.maximumIdleBytes)
    for _ in 0..<4 {
      health.received(ConnectionHealth.maximumIdleBytes, now: 1)
      for _ in 0..<ConnectionHealth.maximumIdleFrames { health.frame() }
    }
    #expect(!health.isFlooded)
    health.received(ConnectionHealth.maximumIdleBytes + 1, now: 1)
    #expect(health.isFlooded)
  }

  /// Streams share a connection: what others receive comes between the data of those that were abandoned.
  @Test func dataOfOthersIsNotThatOfAbandonedStreams() {
    var health = ConnectionHealth(now: 0)
    health.ignores(4 * ConnectionHealth.maximumIdleBytes)
    for _ in 0..<8 {
      health.received(ConnectionHealth.maximumIdleBytes, now: 1)
      health.progressed(by: ConnectionHealth.maximumIdleBytes / 2)
      health.progressed(by: ConnectionHealth.maximumIdleBytes / 2)
    }
    // Half of it.
    health.received(ConnectionHealth.maximumIdleBytes, now: 1)
    health.progressed(by: ConnectionHealth.maximumIdleBytes / 2)
    health.progressed()
    health.received(7 * ConnectionHealth.maximumIdleBytes / 2, now: 1)
    #expect(!health.isFlooded)
    health.received(ConnectionHealth.maximumIdleBytes, now: 1)
    #expect(!health.isFlooded)
    health.received(1, now: 1)
    #expect(health.isFlooded)
  }

  @Test func progressReturnsNoMoreThanWasTaken() {
    var health = ConnectionHealth(now: 0)
    health.ignores(1)
    health.received(1, now: 1)
    for _ in 0..<4 { health.progressed(by: ConnectionHealth.maximumIdleBytes) }
    health.received(ConnectionHealth.maximumIdleBytes + 1, now: 1)
    #expect(!health.isFlooded)
    health.received(1, now: 1)
    #expect(health.isFlooded)
  }

  @Test func lastTimesDoNotOverflow() {
    var health = ConnectionHealth(now: .max)
    #expect(health.mustPing(isIdempotent: false, now: .max))
    let pings = health.pings(now: .max)
    #expect(pings)
    #expect(health.pingDeadline == .max)
    health.received(1, now: .max)
    #expect(!health.isFlooded)
  }
}
