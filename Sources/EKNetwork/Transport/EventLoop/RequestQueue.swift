/// The requests of one event loop, from submission to end, which decides which of them may begin and which have to wait
/// for a connection.
///
/// Each session has a queue for each origin, and a limit of connections to it: a server that is overloaded or does not
/// respond only delays requests of the same session to itself. Each queue is in order of submission. Every operation
/// takes constant time, however many requests wait.
struct RequestQueue<Request> {
  /// Where connections lead, and who may share them.
  struct Place: Hashable {
    var pool: Int
    var origin: Origin
  }

  /// The session whose connections are limited, and their place.
  struct Key: Hashable {
    var session: ObjectIdentifier
    var place: Place

    init(session: ObjectIdentifier, pool: Int, origin: Origin) {
      self.session = session
      place = Place(pool: pool, origin: origin)
    }
  }

  /// A request's place. It must not be used after ``remove(_:)``.
  struct Ticket: Equatable {
    fileprivate var index: Int
  }

  private enum State: Equatable {
    case free
    case waiting
    case begun
    /// Sent over this connection.
    case sent(UInt32)
  }

  private struct Entry {
    var state = State.free
    var request: Request?
    var queue = 0
    var previous = -1
    var next = -1
    /// Whether it failed once, and is to be sent again.
    var isResending = false
    /// When the connection that it needs has to be opened at the earliest.
    var since: UInt64 = 0
  }

  private struct List {
    var first = -1
    var last = -1
    var isEmpty: Bool { first < 0 }
  }

  private struct OriginQueue {
    var key: Key?
    var limit: ConnectionLimit
    var waiting = List()
    /// Those that are to be sent again. They go first.
    var resending = List()
    var isToBeChecked = false
    var isUnused: Bool { limit.isUnused && waiting.isEmpty && resending.isEmpty }

    subscript(isResending isResending: Bool) -> List {
      get { isResending ? resending : waiting }
      set { if isResending { resending = newValue } else { waiting = newValue } }
    }
  }

  /// The number of queues up to which unused ones are kept, because the next request mostly belongs in the same one.
  private static var keptQueues: Int { 16 }

  private var entries: [Entry] = []
  private var freeEntries: [Int] = []
  private var queues: [OriginQueue] = []
  private var freeQueues: [Int] = []
  private var queueIndex: [Key: Int] = [:]
  /// The queues of the sessions at each place.
  private var queuesAt: [Place: [Int]] = [:]
  /// The queues in which something has changed.
  private var unchecked: [Int] = []

  /// The number of requests, waiting or in progress.
  private(set) var count = 0
  private(set) var waitingCount = 0
  /// The number of origins, counted for each session, that have requests.
  var originCount: Int { queueIndex.values.count { !queues[$0].isUnused } }
  /// The number of queues, used or not.
  var queueCount: Int { queueIndex.count }

  // MARK: - Events

  /// Puts a request at the end of its queue.
  mutating func submit(_ request: Request, key: Key, connections: Int) -> Ticket {
    let index = freeEntries.popLast() ?? entries.count
    if index == entries.count { entries.append(Entry()) }
    let queue = queue(for: key, connections: connections)
    entries[index] = Entry(state: .waiting, request: request, queue: queue)
    append(index)
    count += 1
    waitingCount += 1
    check(queue)
    return Ticket(index: index)
  }

  /// Notes that a request that has begun is being sent over this connection.
  mutating func sent(_ ticket: Ticket, over connection: UInt32) {
    let entry = entries[ticket.index]
    guard entry.state == .begun else { return }
    queues[entry.queue].limit.sent(over: connection)
    entries[ticket.index].state = .sent(connection)
    check(entry.queue)
  }

  /// Notes that the connections at a place may have room again.
  mutating func roomChanged(at place: Place) {
    for queue in queuesAt[place] ?? [] { check(queue) }
  }

  /// Queues the request again, before those that have not begun.
  ///
  /// - Parameter since: When the connection that it needs has to be opened at the earliest; 0 for any time.
  mutating func resend(_ ticket: Ticket, since: UInt64) {
    guard end(ticket.index) else { return }
    entries[ticket.index].state = .waiting
    entries[ticket.index].isResending = true
    entries[ticket.index].since = since
    append(ticket.index)
    waitingCount += 1
    check(entries[ticket.index].queue)
  }

  /// Removes a request, which is over or no longer waits.
  mutating func remove(_ ticket: Ticket) {
    let index = ticket.index
    let entry = entries[index]
    switch entry.state {
    case .free: return
    case .waiting:
      unlink(index)
      waitingCount -= 1
    case .begun, .sent: _ = end(index)
    }
    entries[index] = Entry()
    freeEntries.append(index)
    count -= 1
    check(entry.queue)
  }

  // MARK: - Admission

  /// Whether a request that waits may be able to begin.
  var mayHaveNext: Bool { waitingCount > 0 && !unchecked.isEmpty }

  /// Returns the next request that may begin, and counts it as begun. Must be called when every request that has ended
  /// has been removed.
  ///
  /// - Parameter room: Returns what the shared connections at a place have room for. If they have none, it calls
  ///   ``roomChanged(at:)`` once they have.
  mutating func next(room: (Place) -> StreamRoom = { _ in StreamRoom() }) -> (request: Request, ticket: Ticket)? {
    while let queue = unchecked.last {
      if let index = popFirst(of: queue, room) {
        queues[queue].limit.begin()
        entries[index].state = .begun
        waitingCount -= 1
        guard let request = entries[index].request else { continue }
        return (request, Ticket(index: index))
      }
      unchecked.removeLast()
      queues[queue].isToBeChecked = false
      if queueIndex.count > Self.keptQueues, queues[queue].isUnused { free(queue) }
    }
    return nil
  }

  /// Takes the first request off its list, if there is one and it may begin.
  private mutating func popFirst(of queue: Int, _ room: (Place) -> StreamRoom) -> Int? {
    let list = queues[queue]
    guard let key = list.key, !(list.waiting.isEmpty && list.resending.isEmpty) else { return nil }
    let room = room(key.place)
    for isResending in [true, false] {
      let index = list[isResending: isResending].first
      guard index >= 0, list.limit.hasRoom(room, opensNew: entries[index].since > room.newest) else { continue }
      unlink(index)
      return index
    }
    return nil
  }

  // MARK: - Queues

  private mutating func check(_ queue: Int) {
    guard !queues[queue].isToBeChecked else { return }
    queues[queue].isToBeChecked = true
    unchecked.append(queue)
  }

  private mutating func queue(for key: Key, connections: Int) -> Int {
    if let index = queueIndex[key] {
      // A new session may have the address of one that is no more.
      if queues[index].limit.connections != max(1, connections), queues[index].isUnused {
        queues[index].limit = ConnectionLimit(connections: connections)
      }
      return index
    }
    let queue = OriginQueue(key: key, limit: ConnectionLimit(connections: connections))
    let index = freeQueues.popLast() ?? queues.count
    if index == queues.count { queues.append(queue) } else { queues[index] = queue }
    queueIndex[key] = index
    queuesAt[key.place, default: []].append(index)
    return index
  }

  private mutating func free(_ queue: Int) {
    if let key = queues[queue].key {
      queueIndex[key] = nil
      queuesAt[key.place]?.removeAll { $0 == queue }
      if queuesAt[key.place]?.isEmpty == true { queuesAt[key.place] = nil }
    }
    queues[queue].key = nil
    freeQueues.append(queue)
  }

  /// Takes a request off its connection. Returns `false` if it has none.
  private mutating func end(_ index: Int) -> Bool {
    let entry = entries[index]
    switch entry.state {
    case .free, .waiting: return false
    case .begun: queues[entry.queue].limit.end(on: nil)
    case .sent(let connection): queues[entry.queue].limit.end(on: connection)
    }
    return true
  }

  // MARK: - Lists

  private mutating func append(_ index: Int) {
    let entry = entries[index]
    var list = queues[entry.queue][isResending: entry.isResending]
    entries[index].previous = list.last
    entries[index].next = -1
    if list.last < 0 { list.first = index } else { entries[list.last].next = index }
    list.last = index
    queues[entry.queue][isResending: entry.isResending] = list
  }

  private mutating func unlink(_ index: Int) {
    let entry = entries[index]
    var list = queues[entry.queue][isResending: entry.isResending]
    if entry.previous < 0 { list.first = entry.next } else { entries[entry.previous].next = entry.next }
    if entry.next < 0 { list.last = entry.previous } else { entries[entry.next].previous = entry.previous }
    queues[entry.queue][isResending: entry.isResending] = list
  }
}

/// What the connections of HTTP/2 to an origin have room for.
struct StreamRoom {
  /// Whether there are such connections.
  var isShared = false
  /// Whether one more request can be sent over one of them.
  var isFree = false
  /// When the newest of those was opened.
  var newest: UInt64 = 0
  /// Those that take no more requests, and stay until their last response ends (GOAWAY and HTTP_1_1_REQUIRED, RFC 9113 §6.8
  /// and §7).
  var leaving: [UInt32] = []
}

/// A limit on the requests of one session to one origin that are in progress, so that they need no more connections
/// than the session allows.
///
/// Over HTTP/1.1 each request in progress has a connection of its own. Over HTTP/2 they share connections (RFC 9113
/// §5), as many on each as its server allows.
struct ConnectionLimit {
  /// The maximum number of connections; at least 1.
  let connections: Int
  /// The number of requests in progress that have no connection yet, each of which may need one.
  private var connecting = 0
  /// The number of requests in progress on each connection.
  private var exchanges: [UInt32: Int] = [:]

  init(connections: Int) { self.connections = max(1, connections) }

  var isUnused: Bool { connecting == 0 && exchanges.isEmpty }

  /// Returns whether one more request may begin.
  ///
  /// - Parameter opensNew: Whether a connection is opened for it in any case.
  func hasRoom(_ room: StreamRoom, opensNew: Bool = false) -> Bool {
    if room.isFree, !opensNew { return true }
    // Those that are leaving may stay for a long time. Each needs requests of its own, so that they are not too many.
    let leaving = min(room.leaving.count { exchanges[$0] != nil }, connections)
    // The same is true of one that has no room, or has refused a request that needs another.
    let beyond = opensNew && room.isShared ? 1 : 0
    return exchanges.count - leaving + connecting < connections + beyond
  }

  mutating func begin() { connecting += 1 }

  mutating func sent(over connection: UInt32) {
    connecting -= 1
    exchanges[connection, default: 0] += 1
  }

  /// Notes that a request is over, or leaves its connection.
  ///
  /// - Parameter connection: The connection over which it was sent; `nil` if it never was.
  mutating func end(on connection: UInt32?) {
    guard let connection else {
      connecting -= 1
      return
    }
    let count = (exchanges[connection] ?? 1) - 1
    exchanges[connection] = count > 0 ? count : nil
  }
}
