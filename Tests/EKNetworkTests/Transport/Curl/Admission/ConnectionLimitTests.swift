import Testing

@testable import EKNetwork

@Suite struct ConnectionLimitTests {
  /// Starts as many requests as the limit allows, each of them sent at once from `port`.
  private func fill(_ limit: inout ConnectionLimit, port: Int32?) -> Int {
    var count = 0
    while limit.hasRoom(), count < 10_000 {
      limit.begin()
      if let port { limit.sent(port: port, last: nil) }
      count += 1
    }
    return count
  }

  @Test(arguments: [0, 1, 6, 500]) func withoutTLSEachRequestTakesAConnection(_ connections: Int) {
    var limit = ConnectionLimit(connections: connections, negotiates: false)
    #expect(fill(&limit, port: nil) == max(1, connections))
    limit.end(port: nil)
    #expect(fill(&limit, port: nil) == 1)
  }

  @Test func fewRequestsStartBeforeTheFirstConnection() {
    var limit = ConnectionLimit(connections: 500, negotiates: true)
    #expect(fill(&limit, port: nil) == ConnectionLimit.maximumConnecting)
    // HTTP/1.1: the others connect, too.
    limit.sent(port: 1_000, last: nil)
    #expect(fill(&limit, port: nil) == 500 - ConnectionLimit.maximumConnecting)
  }

  @Test func sharedPortProvesHTTP2() {
    var limit = ConnectionLimit(connections: 6, negotiates: true)
    #expect(fill(&limit, port: nil) == 6)
    limit.sent(port: 1_000, last: nil)
    #expect(!limit.isShared && !limit.hasRoom() && !limit.waitsForStream)
    limit.sent(port: 1_000, last: nil)
    #expect(limit.isShared && limit.waitsForStream)
    // Four are not sent: one more might open a sixth connection.
    #expect(limit.hasRoom())
    limit.begin()
    #expect(!limit.hasRoom())
    for _ in 0..<5 { limit.sent(port: 1_000, last: nil) }
    #expect(limit.active == 7 && limit.unsent == 0)
    #expect(fill(&limit, port: 1_000) == 593)
  }

  @Test func responseVersionDecidesSharing() {
    var limit = ConnectionLimit(connections: 1, negotiates: true)
    #expect(fill(&limit, port: 1_000) == 1)
    limit.responded(isHTTP2: true)
    #expect(fill(&limit, port: 1_000) == 99)
    limit.responded(isHTTP2: false)
    for _ in 0..<99 { limit.end(port: 1_000) }
    #expect(!limit.isShared && !limit.hasRoom())
    limit.end(port: 1_000)
    #expect(fill(&limit, port: nil) == 1)
  }

  /// A request that is alone on its connection waits for the server.
  @Test func lastRequestOnAConnectionWaitsForNoStream() {
    var limit = ConnectionLimit(connections: 1, negotiates: true)
    #expect(fill(&limit, port: 1_000) == 1)
    limit.responded(isHTTP2: true)
    limit.begin()
    #expect(limit.waitsForStream)
    limit.end(port: 1_000)
    #expect(limit.isShared && !limit.waitsForStream)
  }

  /// A feed keeps the only allowed connection open, and the server takes no more requests on it.
  @Test func closingConnectionAllowsOneMore() {
    var limit = ConnectionLimit(connections: 1, negotiates: true)
    limit.begin()
    limit.sent(port: 1_000, last: nil)
    limit.responded(isHTTP2: true)
    for _ in 0..<3 {
      #expect(limit.hasRoom())
      limit.begin()
      limit.sent(port: 2_000, last: nil)
      // Not a third connection.
      #expect(!limit.hasRoom())
      limit.end(port: 2_000)
    }
    limit.begin()
    // The first connection was only full.
    limit.sent(port: 1_000, last: nil)
    #expect(!limit.hasRoom() && limit.active == 2)
  }

  /// The second one was opened because the first had been closed, which says nothing about the number of streams.
  @Test func soleConnectionIsNotTakenForFull() {
    var limit = ConnectionLimit(connections: 1, negotiates: true)
    limit.begin()
    limit.sent(port: 1_000, last: nil)
    limit.responded(isHTTP2: true)
    limit.begin()
    limit.end(port: 1_000)
    limit.sent(port: 2_000, last: nil)
    #expect(limit.isShared && limit.hasRoom())
  }

  /// One server behind the name allows ten streams, the other three, which is known once a third connection is opened.
  @Test func unequalConnectionsAreNotOverfilled() {
    var limit = ConnectionLimit(connections: 2, negotiates: true)
    for port in [Int32](repeating: 1, count: 10) + [2, 2, 2, 3] {
      limit.begin()
      limit.sent(port: port, last: nil)
    }
    #expect(limit.active == 14 && !limit.hasRoom())
    limit.end(port: 3)
    limit.end(port: 2)
    #expect(fill(&limit, port: 2) == 1)
  }

  /// The server allows ten streams: the eleventh request needs the next connection.
  @Test func connectionsExceedTheLimitByAtMostOne() {
    var limit = ConnectionLimit(connections: 6, negotiates: true)
    var streams: [Int32: Int] = [:]
    func port() -> Int32 { (1...100).first { streams[$0, default: 0] < 10 } ?? 0 }
    for round in 0..<1_000 {
      var begun = 0
      while limit.hasRoom() {
        limit.begin()
        begun += 1
        #expect(begun <= 6)
        // libcurl assigns them to connections once it has all of them.
        if limit.hasRoom() { continue }
        for _ in 0..<begun {
          let port = port()
          streams[port, default: 0] += 1
          limit.sent(port: port, last: nil)
        }
        begun = 0
      }
      // One may be opened before it turns out that all are full.
      #expect(streams.filter { $0.value > 0 }.count <= 7, "round \(round)")
      #expect(limit.active >= 54)
      for (port, count) in streams where count > 0 && Bool.random() {
        streams[port] = count - 1
        limit.end(port: port)
      }
    }
  }

  /// Behind one name some servers speak HTTP/2, others do not.
  @Test func mixedHTTPVersionsStayBounded() {
    var limit = ConnectionLimit(connections: 6, negotiates: true)
    for _ in 0..<2 {
      limit.begin()
      limit.sent(port: 1, last: nil)
    }
    var next: Int32 = 2
    while limit.hasRoom(), next < 1_000 {
      limit.begin()
      limit.sent(port: next, last: nil)
      next += 1
    }
    #expect(next <= 8)
  }

  @Test func resentRequestNeedsItsOwnConnection() {
    var limit = ConnectionLimit(connections: 3, negotiates: true)
    for _ in 0..<3 { limit.begin() }
    for _ in 0..<3 { limit.sent(port: 1, last: nil) }
    #expect(limit.hasRoom(for: .opensNew))
    limit.begin()
    limit.begin()
    #expect(!limit.hasRoom(for: .opensNew))
    limit.sent(port: 2, last: nil, use: .opensNew)
    limit.sent(port: 3, last: nil, use: .opensNew)
    // The open ones may last for hours: one more is opened past the limit, but only one at a time.
    #expect(limit.hasRoom(for: .opensNew))
    limit.begin()
    #expect(!limit.hasRoom(for: .opensNew))
    limit.sent(port: 4, last: nil, use: .opensNew)
    #expect(!limit.hasRoom(for: .opensNew))
    limit.end(port: 4)
    #expect(limit.hasRoom(for: .opensNew))
  }

  /// Uploads over HTTP/1.1 to a server that speaks HTTP/2.
  @Test func unsharedRequestsAreCountedByThemselves() {
    var limit = ConnectionLimit(connections: 4, negotiates: true)
    func unshared(_ count: Int) {
      for _ in 0..<count {
        #expect(limit.hasRoom(for: .neverShares))
        limit.begin(.neverShares)
      }
    }
    // As long as no request may share a connection, there is nothing to learn from the first one.
    unshared(3)
    #expect(limit.hasRoom())
    limit.begin()
    #expect(!limit.hasRoom() && !limit.hasRoom(for: .neverShares) && !limit.isShared)
    for port in [1, 2, 3] as [Int32] { limit.sent(port: port, last: nil, use: .neverShares) }
    limit.sent(port: 4, last: nil)
    limit.responded(isHTTP2: true)
    #expect(limit.waitsForStream)
    #expect(fill(&limit, port: 4) == 99)
    for port in [1, 2, 3] as [Int32] { limit.end(port: port, use: .neverShares) }
    #expect(limit.active == 100 && fill(&limit, port: 4) == 300)
    limit.begin(.neverShares)
    limit.sent(port: 1, last: nil, use: .neverShares)
    for _ in 0..<400 { limit.end(port: 4) }
    // The connection is idle, and still there.
    #expect(limit.isShared && !limit.waitsForStream && limit.hasRoom())
    limit.end(port: 1, use: .neverShares)
    #expect(limit.active == 0 && limit.unsent == 0 && !limit.isShared)
  }

  @Test func unsharedRequestsLeaveOpenConnectionsToOthers() {
    var limit = ConnectionLimit(connections: 6, negotiates: true)
    func begin(on port: Int32, _ use: ConnectionUse = .shares) {
      limit.begin(use)
      limit.sent(port: port, last: nil, use: use)
    }
    // The first connection has room for 10.
    begin(on: 1)
    limit.responded(isHTTP2: true)
    for _ in 1..<10 { begin(on: 1) }
    begin(on: 2)
    for port in 3..<8 as Range<Int32> { begin(on: port, .neverShares) }
    #expect(limit.hasRoom(), "the second connection has room for 9 more")
  }

  @Test func unsharedRequestsDoNotDelayOthersWhileConnectionCloses() {
    var limit = ConnectionLimit(connections: 6, negotiates: true)
    for _ in 0..<3 {
      limit.begin()
      limit.sent(port: 1, last: nil)
    }
    limit.responded(isHTTP2: true)
    for port in 3..<8 as Range<Int32> {
      limit.begin(.neverShares)
      limit.sent(port: port, last: nil, use: .neverShares)
    }
    // The server sends a GOAWAY on the first connection (RFC 9113 §6.8), whose streams go on.
    limit.begin()
    limit.sent(port: 2, last: nil)
    limit.end(port: 2)
    #expect(limit.hasRoom())
    limit.begin()
    #expect(!limit.hasRoom() && !limit.hasRoom(for: .opensNew))
  }

  @Test func movedRequestLeavesItsFirstConnection() {
    var limit = ConnectionLimit(connections: 6, negotiates: true)
    limit.begin()
    limit.begin()
    limit.sent(port: 1, last: nil)
    limit.sent(port: 1, last: nil)
    #expect(limit.isShared)
    limit.sent(port: 2, last: 1)
    #expect(!limit.isShared)
    limit.end(port: 1)
    limit.end(port: 2)
    #expect(limit.active == 0 && limit.unsent == 0)
  }

  /// A libcurl that does not report when and from which port it sends.
  @Test func withoutPortsTheResponseDecides() {
    var limit = ConnectionLimit(connections: 6, negotiates: true)
    #expect(fill(&limit, port: 0) == 6)
    limit.responded(isHTTP2: true)
    #expect(fill(&limit, port: 0) == 594)
    for _ in 0..<600 { limit.end(port: 0) }
    #expect(limit.active == 0 && limit.unsent == 0)
  }
}
