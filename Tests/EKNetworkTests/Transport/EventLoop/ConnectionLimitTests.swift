import Testing

@testable import EKNetwork

struct ConnectionLimitTests {
  private static let free = StreamRoom(isShared: true, isFree: true)
  private static let full = StreamRoom(isShared: true)

  /// Starts as many requests as the limit allows, each of them on a connection of its own from `first` on, or on none yet.
  private func fill(
    _ limit: inout ConnectionLimit, first: UInt32? = nil, room: StreamRoom = StreamRoom(), opensNew: Bool = false
  ) -> Int {
    var count = 0
    while limit.hasRoom(room, opensNew: opensNew), count < 1_000 {
      limit.begin()
      if let first { limit.sent(over: first + UInt32(count)) }
      count += 1
    }
    return count
  }

  @Test(arguments: [0, 1, 6, 500], [nil, UInt32(1)])
  func eachRequestTakesAConnection(_ connections: Int, first: UInt32?) {
    var limit = ConnectionLimit(connections: connections)
    #expect(fill(&limit, first: first) == max(1, connections))
    limit.end(on: first)
    #expect(fill(&limit, first: first) == 1)
  }

  @Test func nothingInProgressIsUnused() {
    var limit = ConnectionLimit(connections: 2)
    #expect(limit.isUnused)
    limit.begin()
    #expect(!limit.isUnused)
    limit.sent(over: 1)
    #expect(!limit.isUnused)
    limit.end(on: 1)
    #expect(limit.isUnused)
    limit.begin()
    limit.end(on: nil)
    #expect(limit.isUnused)
  }

  @Test func sharedConnectionTakesWhatItHasRoomFor() {
    var limit = ConnectionLimit(connections: 1)
    for _ in 0..<1_000 {
      #expect(limit.hasRoom(Self.free))
      limit.begin()
      limit.sent(over: 7)
    }
    // It counts once, however many requests are on it.
    #expect(!limit.hasRoom(Self.full))
    for _ in 0..<999 { limit.end(on: 7) }
    #expect(!limit.hasRoom(Self.full))
    limit.end(on: 7)
    #expect(limit.hasRoom(Self.full))
  }

  @Test func fullConnectionsAreJoinedByOthers() {
    var limit = ConnectionLimit(connections: 3)
    limit.begin()
    limit.sent(over: 1)
    // Those that wait for one that is being opened may each need one.
    #expect(fill(&limit, room: Self.full) == 2)
    limit.sent(over: 2)
    limit.sent(over: 2)
    #expect(fill(&limit, room: Self.full) == 1)
  }

  /// A feed keeps the only allowed connection open, and the server takes no more requests on it.
  @Test func leavingConnectionDoesNotCount() {
    var limit = ConnectionLimit(connections: 1)
    limit.begin()
    limit.sent(over: 1)
    #expect(!limit.hasRoom(Self.full))
    #expect(limit.hasRoom(StreamRoom(isShared: true, leaving: [1])))
    // Another session's.
    #expect(!limit.hasRoom(StreamRoom(isShared: true, leaving: [2, 3])))
    limit.begin()
    #expect(!limit.hasRoom(StreamRoom(isShared: true, leaving: [1])))
    limit.sent(over: 2)
    // Both are leaving, and the server does the same to each next one: they are not to become more and more.
    #expect(!limit.hasRoom(StreamRoom(isShared: true, leaving: [1, 2])))
  }

  @Test func resentRequestMayNeedOneMore() {
    var limit = ConnectionLimit(connections: 1)
    limit.begin()
    limit.sent(over: 1)
    // The server has refused another on the connection that lasts.
    #expect(fill(&limit, room: Self.free, opensNew: true) == 1)
    #expect(limit.hasRoom(Self.free))
    limit.sent(over: 2)
    #expect(!limit.hasRoom(Self.free, opensNew: true))
    // Nothing is shared: the connection that failed has made room.
    var plain = ConnectionLimit(connections: 1)
    #expect(fill(&plain, opensNew: true) == 1)
  }
}
