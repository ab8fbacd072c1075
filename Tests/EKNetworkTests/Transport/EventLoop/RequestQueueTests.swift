import Foundation
import Testing

@testable import EKNetwork

struct RequestQueueTests {
  typealias Queue = RequestQueue<Int>

  /// Sessions are identified by the address of a live object.
  private final class Session: Sendable {}

  private let session = Session()
  private let otherSession = Session()

  private static func origin(_ host: String, isSecure: Bool = false) -> Origin {
    // A URL that is made of letters always has an origin.
    URL(string: "\(isSecure ? "https" : "http")://\(host)/").flatMap { Origin($0) } ?? origin("a")
  }

  private func key(_ host: String = "a", session: AnyObject? = nil, pool: Int = 0, isSecure: Bool = false) -> Queue.Key
  {
    Queue.Key(
      session: ObjectIdentifier(session ?? self.session), pool: pool,
      origin: Self.origin(host, isSecure: isSecure))
  }

  /// All requests that may start now.
  private func admit(_ queue: inout Queue, room: StreamRoom = StreamRoom()) -> [Int] {
    var numbers: [Int] = []
    while let (number, _) = queue.next(room: { _ in room }) { numbers.append(number) }
    return numbers
  }

  private static let free = StreamRoom(isShared: true, isFree: true)
  private static let full = StreamRoom(isShared: true)

  @Test func requestsStartInOrderWithinTheLimit() {
    var queue = Queue()
    let tickets = (0..<10).map { queue.submit($0, key: key(), connections: 3) }
    #expect(admit(&queue) == [0, 1, 2])
    #expect(admit(&queue) == [])
    queue.remove(tickets[1])
    #expect(admit(&queue) == [3])
    queue.remove(tickets[0])
    queue.remove(tickets[2])
    #expect(admit(&queue) == [4, 5])
    #expect(queue.count == 7 && queue.waitingCount == 4)
  }

  /// A feed has the only connection, and the server has refused two requests on it.
  @Test func resentRequestsDoNotBlockOthers() {
    var queue = Queue()
    let tickets = (0..<4).map { queue.submit($0, key: key(isSecure: true), connections: 1) }
    #expect(admit(&queue) == [0])
    queue.sent(tickets[0], over: 1)
    #expect(admit(&queue, room: Self.free) == [1, 2, 3])
    for ticket in tickets[1...] { queue.sent(ticket, over: 1) }
    queue.resend(tickets[1], since: 1)
    queue.resend(tickets[2], since: 1)
    let next = queue.submit(4, key: key(isSecure: true), connections: 1)
    // One starts past the limit; the other waits for it, and later ones use the existing connection.
    #expect(admit(&queue, room: Self.free) == [1, 4])
    queue.sent(tickets[1], over: 2)
    queue.sent(next, over: 1)
    #expect(admit(&queue, room: Self.free) == [])
    queue.remove(tickets[1])
    #expect(admit(&queue, room: Self.free) == [2])
  }

  /// They have been lost at 5: the first opens a connection, and the others share it.
  @Test func resentRequestsShareANewerConnection() {
    var queue = Queue()
    let tickets = (0..<5).map { queue.submit($0, key: key(isSecure: true), connections: 1) }
    #expect(admit(&queue) == [0])
    queue.sent(tickets[0], over: 1)
    #expect(admit(&queue, room: Self.free) == [1, 2, 3, 4])
    for ticket in tickets[1...] { queue.sent(ticket, over: 1) }
    for ticket in tickets[1...3] { queue.resend(ticket, since: 5) }
    queue.resend(tickets[4], since: .max)
    #expect(admit(&queue, room: StreamRoom(isShared: true, isFree: true, newest: 4)) == [1])
    queue.sent(tickets[1], over: 2)
    #expect(admit(&queue, room: StreamRoom(isShared: true, isFree: true, newest: 5)) == [2, 3])
  }

  /// The server may take them on the same connection later.
  @Test func refusedRequestsWaitForRoom() {
    var queue = Queue()
    let tickets = (0..<3).map { queue.submit($0, key: key(isSecure: true), connections: 1) }
    #expect(admit(&queue) == [0])
    queue.sent(tickets[0], over: 1)
    #expect(admit(&queue, room: Self.free) == [1, 2])
    for ticket in tickets[1...] { queue.sent(ticket, over: 1) }
    queue.resend(tickets[2], since: 0)
    #expect(admit(&queue, room: Self.full) == [])
    _ = queue.submit(3, key: key(isSecure: true), connections: 1)
    #expect(admit(&queue, room: Self.free) == [2, 3])
  }

  /// A queue is not asked again before something has changed, also for another session.
  @Test func freedRoomIsUsedByEverySession() {
    var queue = Queue()
    let first = queue.submit(1, key: key(isSecure: true), connections: 1)
    let second = queue.submit(2, key: key(session: otherSession, isSecure: true), connections: 1)
    #expect(Set(admit(&queue)) == [1, 2])
    queue.sent(first, over: 7)
    queue.sent(second, over: 7)
    _ = queue.submit(3, key: key(isSecure: true), connections: 1)
    _ = queue.submit(4, key: key(session: otherSession, isSecure: true), connections: 1)
    #expect(admit(&queue, room: Self.full) == [])
    #expect(admit(&queue, room: Self.free) == [])
    queue.roomChanged(at: key("b", isSecure: true).place)
    #expect(admit(&queue, room: Self.free) == [])
    queue.roomChanged(at: key(isSecure: true).place)
    #expect(Set(admit(&queue, room: Self.free)) == [3, 4])
  }

  @Test func queueOfOneSessionIsForgottenWithoutThoseOfOthers() {
    var queue = Queue()
    for number in 0..<20 { _ = queue.submit(number, key: key("h\(number)"), connections: 1) }
    let first = queue.submit(20, key: key(isSecure: true), connections: 1)
    let second = queue.submit(21, key: key(session: otherSession, isSecure: true), connections: 1)
    #expect(Set(admit(&queue)) == Set(0..<22))
    queue.sent(first, over: 7)
    queue.sent(second, over: 7)
    _ = queue.submit(22, key: key(isSecure: true), connections: 1)
    queue.remove(second)
    #expect(admit(&queue, room: Self.full) == [])
    #expect(queue.queueCount == 21)
    queue.roomChanged(at: key(isSecure: true).place)
    #expect(admit(&queue, room: Self.free) == [22])
  }

  @Test func roomIsNotAskedForWithoutNeed() {
    var queue = Queue()
    var asked = 0
    let secure = queue.submit(2, key: key(isSecure: true), connections: 1)
    while queue.next(room: { _ in
      asked += 1
      return Self.free
    }) != nil {}
    queue.remove(secure)
    let last = queue.next(room: { _ in
      asked += 1
      return Self.free
    })
    #expect(last == nil)
    #expect(asked == 1)
  }

  @Test func fullOriginDoesNotBlockOthers() {
    var queue = Queue()
    for number in 0..<100 { _ = queue.submit(number, key: key("hung"), connections: 6) }
    #expect(admit(&queue) == Array(0..<6))
    _ = queue.submit(100, key: key("well"), connections: 6)
    _ = queue.submit(101, key: key("hung", session: otherSession), connections: 6)
    _ = queue.submit(102, key: key("hung", pool: 1), connections: 6)
    _ = queue.submit(103, key: key("hung", isSecure: true), connections: 6)
    #expect(Set(admit(&queue)) == [100, 101, 102, 103])
    #expect(queue.originCount == 5)
  }

  @Test func waitingRequestsCanBeRemoved() {
    var queue = Queue()
    let tickets = (0..<6).map { queue.submit($0, key: key(), connections: 1) }
    #expect(admit(&queue) == [0])
    // The first that waits, one amid the others, the last.
    for index in [1, 3, 5] { queue.remove(tickets[index]) }
    #expect(queue.waitingCount == 2)
    queue.remove(tickets[0])
    #expect(admit(&queue) == [2])
    queue.remove(tickets[2])
    #expect(admit(&queue) == [4])
    queue.remove(tickets[4])
    #expect(admit(&queue) == [])
    #expect(queue.count == 0 && queue.waitingCount == 0 && queue.originCount == 0)
  }

  @Test func resentRequestsGoFirstAndCountOnce() {
    var queue = Queue()
    let tickets = (0..<6).map { queue.submit($0, key: key(), connections: 2) }
    #expect(admit(&queue) == [0, 1])
    queue.resend(tickets[1], since: 1)
    queue.resend(tickets[0], since: 1)
    #expect(queue.waitingCount == 6)
    #expect(admit(&queue) == [1, 0])
    #expect(admit(&queue) == [])
    // It may be cancelled before it is sent again.
    queue.resend(tickets[0], since: 1)
    queue.remove(tickets[0])
    #expect(admit(&queue) == [2])
    #expect(queue.count == 5)
  }

  @Test func removedRequestIsReleased() {
    final class Token: Sendable {}
    var queue = RequestQueue<Token>()
    weak var token: Token?
    do {
      let owned = Token()
      token = owned
      let key = RequestQueue<Token>.Key(
        session: ObjectIdentifier(session), pool: 0, origin: Self.origin("a"))
      let ticket = queue.submit(owned, key: key, connections: 1)
      _ = queue.next()
      queue.remove(ticket)
    }
    #expect(token == nil)
  }

  /// The same requests start as in ``ReferenceQueue``, in the same order, after any sequence of events.
  @Test(arguments: 0..<10) func randomEventsMatchTheReferenceQueue(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var queue = Queue()
    var reference = ReferenceQueue()
    var tickets: [Int: Queue.Ticket] = [:]
    var keys: [Int: Queue.Key] = [:]
    var begun: Set<Int> = []
    let limits = (0..<5).map { _ in Int.random(in: 1...7, using: &random) }
    for number in 0..<600 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        let which = Int.random(in: 0..<5, using: &random)
        let key = key("host\(which)", session: which < 2 ? otherSession : session)
        keys[number] = key
        tickets[number] = queue.submit(number, key: key, connections: limits[which])
        reference.submit(ReferenceQueue.Item(number: number, key: key, limit: limits[which]))
      case 5..<9:
        guard let victim = tickets.keys.sorted().randomElement(using: &random), let ticket = tickets[victim] else {
          break
        }
        tickets[victim] = nil
        begun.remove(victim)
        queue.remove(ticket)
        reference.remove(victim)
      default:
        guard let victim = begun.sorted().randomElement(using: &random), let ticket = tickets[victim] else { break }
        begun.remove(victim)
        queue.resend(ticket, since: 1)
        reference.resend(victim)
      }
      if Bool.random(using: &random) {
        var found: [Queue.Key: [Int]] = [:]
        while let (number, ticket) = queue.next() {
          #expect(tickets[number] == ticket)
          found[try #require(keys[number]), default: []].append(number)
          begun.insert(number)
        }
        #expect(found == reference.admit())
        #expect(queue.count == reference.items.count)
        #expect(queue.waitingCount == reference.items.count { !$0.hasBegun })
        for key in Set(keys.values) { #expect(reference.active(key) <= 7) }
      }
    }
    // No request starves: as the active ones end, all of them start.
    while !tickets.isEmpty {
      _ = queue.next().map { begun.insert($0.request) }
      while let (number, _) = queue.next() { begun.insert(number) }
      #expect(!begun.isEmpty)
      for number in begun { tickets.removeValue(forKey: number).map { queue.remove($0) } }
      begun = []
    }
    #expect(queue.next() == nil)
    #expect(queue.count == 0 && queue.originCount == 0)
  }

  @Test func unusedQueuesAreFew() {
    var queue = Queue()
    let tickets = (0..<100).map { queue.submit($0, key: key("host\($0)"), connections: 1) }
    #expect(admit(&queue).count == 100)
    #expect(queue.queueCount == 100)
    for ticket in tickets { queue.remove(ticket) }
    #expect(admit(&queue) == [])
    #expect(queue.originCount == 0 && queue.queueCount <= 16)
  }

  @Test func sessionAtTheAddressOfAnotherHasItsOwnLimit() {
    var queue = Queue()
    let ticket = queue.submit(0, key: key(), connections: 1)
    #expect(admit(&queue) == [0])
    queue.remove(ticket)
    #expect(admit(&queue) == [])
    for number in 1...5 { _ = queue.submit(number, key: key(), connections: 3) }
    #expect(admit(&queue) == [1, 2, 3])
  }

  /// Each waiting request has a constant cost: a queue that searched the waiting ones would take minutes.
  @Test func removingManyWaitingRequestsIsFast() {
    var queue = Queue()
    var tickets: [Queue.Ticket] = []
    for number in 0..<100_000 { tickets.append(queue.submit(number, key: key(), connections: 6)) }
    #expect(admit(&queue).count == 6)
    for ticket in tickets.reversed() { queue.remove(ticket) }
    #expect(queue.next() == nil)
    #expect(queue.count == 0 && queue.originCount == 0)
  }
}
