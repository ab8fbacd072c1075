/// The requests of one event loop, from submission to end, which decides which of them may begin and which have to wait
/// for a connection.
///
/// Each session has a queue for each origin, and a limit of connections to it: a server that is overloaded or does not
/// respond only delays requests of the same session to itself. Each queue is in order of submission. Every operation
/// takes constant time, however many requests wait, except that ``ConnectionLimit`` goes through the connections of one
/// origin when HTTP/2 opens one more.
struct RequestQueue<Request> {
  /// The session and the origin that connections belong to.
  struct Key: Hashable {
    var session: ObjectIdentifier
    /// Requests that must not use the same connections are never in the same queue.
    var pool: Int
    var origin: Origin
  }

  /// A request's place. It must not be used after ``remove(_:)``.
  struct Ticket: Equatable {
    fileprivate var index: Int
  }

  private enum State: Equatable {
    case free
    case waiting
    case begun
    /// Sent, with the local port of its connection.
    case sent(Int32)
  }

  private struct Entry {
    var state = State.free
    var request: Request?
    var queue = 0
    var previous = -1
    var next = -1
    /// Its place in the order of submission.
    var number = 0
    var use = ConnectionUse.shares
    var isResending = false
    /// The loop that runs it, counted from the origin's own.
    var lane = 0
    /// The list in which it waits.
    var place: Place { isResending ? .resending : use == .neverShares ? .unshared : .waiting }
  }

  private enum Place {
    case waiting
    case unshared
    case resending
  }

  private struct List {
    var first = -1
    var last = -1
    var isEmpty: Bool { first < 0 }
  }

  private struct OriginQueue {
    var key: Key?
    var limit: ConnectionLimit
    var lanes: ConnectionLanes
    var waiting = List()
    /// Requests that never share a connection, which others do not wait behind.
    var unshared = List()
    /// Requests that failed once and are to be sent again over a connection of their own. They go first.
    var resending = List()
    var isToBeChecked = false
    var isUnused: Bool { limit.active == 0 && waiting.isEmpty && unshared.isEmpty && resending.isEmpty }

    subscript(place: Place) -> List {
      get {
        switch place {
        case .waiting: waiting
        case .unshared: unshared
        case .resending: resending
        }
      }
      set {
        switch place {
        case .waiting: waiting = newValue
        case .unshared: unshared = newValue
        case .resending: resending = newValue
        }
      }
    }
  }

  private let mayShareConnections: Bool
  private let loops: Int
  private var entries: [Entry] = []
  private var freeEntries: [Int] = []
  private var queues: [OriginQueue] = []
  private var freeQueues: [Int] = []
  private var queueIndex: [Key: Int] = [:]
  /// The queues in which something has changed.
  private var unchecked: [Int] = []
  /// The number of requests that have been submitted.
  private var submissions = 0

  /// The number of requests, waiting or in progress.
  private(set) var count = 0
  /// The number of requests that wait.
  private(set) var waitingCount = 0
  /// The number of origins, counted for each session, that have requests.
  var originCount: Int { queueIndex.count }

  /// - Parameters:
  ///   - mayShareConnections: Whether requests to one origin can share connections at all (HTTP/2).
  ///   - loops: The number of event loops among which requests that cannot share connections may be divided.
  init(mayShareConnections: Bool = true, loops: Int = 1) {
    self.mayShareConnections = mayShareConnections
    self.loops = loops
  }

  // MARK: - Events

  /// Puts a request at the end of its queue.
  mutating func submit(_ request: Request, key: Key, connections: Int, use: ConnectionUse = .shares) -> Ticket {
    let index = freeEntries.popLast() ?? entries.count
    if index == entries.count { entries.append(Entry()) }
    let queue = queue(for: key, connections: connections)
    submissions += 1
    entries[index] = Entry(state: .waiting, request: request, queue: queue, number: submissions, use: use)
    append(index)
    count += 1
    waitingCount += 1
    check(queue)
    return Ticket(index: index)
  }

  /// Notes that the request is being sent, perhaps for the second time, from this local port; 0 if it is not known.
  mutating func sent(_ ticket: Ticket, port: Int32) {
    let entry = entries[ticket.index]
    switch entry.state {
    case .free, .waiting: return
    case .begun: queues[entry.queue].limit.sent(port: port, last: nil, use: entry.use)
    case .sent(let last): queues[entry.queue].limit.sent(port: port, last: last, use: entry.use)
    }
    entries[ticket.index].state = .sent(port)
    check(entry.queue)
  }

  /// Notes that the response head has been received.
  mutating func responded(_ ticket: Ticket, isHTTP2: Bool) {
    let queue = entries[ticket.index].queue
    queues[queue].limit.responded(isHTTP2: isHTTP2)
    check(queue)
  }

  /// Queues the request again, over another connection and before those that have not begun.
  mutating func resend(_ ticket: Ticket) {
    guard end(ticket.index) else { return }
    entries[ticket.index].state = .waiting
    if entries[ticket.index].use == .shares { entries[ticket.index].use = .opensNew }
    entries[ticket.index].isResending = true
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

  /// Returns the loop that runs the request, once it has begun; 0 is the queue's own.
  func lane(of ticket: Ticket) -> Int { entries[ticket.index].lane }

  /// Returns whether the request has begun and waits for other requests on its connections, which is not idle time.
  func waitsForStream(_ ticket: Ticket) -> Bool {
    let entry = entries[ticket.index]
    return entry.state == .begun && entry.use != .neverShares && queues[entry.queue].limit.waitsForStream
  }

  // MARK: - Admission

  /// Returns the next request that may begin, and counts it as begun. Must be called when every request that has ended
  /// has been removed.
  mutating func next() -> (request: Request, ticket: Ticket)? {
    while let queue = unchecked.last {
      if let index = popFirst(of: queue) {
        queues[queue].limit.begin(entries[index].use)
        entries[index].state = .begun
        entries[index].lane = queues[queue].lanes.take()
        waitingCount -= 1
        guard let request = entries[index].request else { continue }
        return (request, Ticket(index: index))
      }
      unchecked.removeLast()
      queues[queue].isToBeChecked = false
      if queues[queue].isUnused { free(queue) }
    }
    return nil
  }

  private mutating func popFirst(of queue: Int) -> Int? {
    let (shared, unshared) = (queues[queue].waiting.first, queues[queue].unshared.first)
    // Those that may share do not wait for a connection that only the others need.
    let isSharedFirst = unshared < 0 || shared >= 0 && entries[shared].number < entries[unshared].number
    return pop(queues[queue].resending.first) ?? pop(isSharedFirst ? shared : unshared)
      ?? pop(isSharedFirst ? unshared : shared)
  }

  /// Takes a request off its list, if there is one and it may begin.
  private mutating func pop(_ index: Int) -> Int? {
    guard index >= 0, queues[entries[index].queue].limit.hasRoom(for: entries[index].use) else { return nil }
    unlink(index)
    return index
  }

  // MARK: - Queues

  private mutating func check(_ queue: Int) {
    guard !queues[queue].isToBeChecked else { return }
    queues[queue].isToBeChecked = true
    unchecked.append(queue)
  }

  private mutating func queue(for key: Key, connections: Int) -> Int {
    if let index = queueIndex[key] { return index }
    let negotiates = mayShareConnections && key.origin.scheme == "https"
    let limit = ConnectionLimit(connections: connections, negotiates: negotiates)
    let queue = OriginQueue(
      key: key, limit: limit,
      // Requests that may share a connection belong to one loop.
      lanes: ConnectionLanes(connections: limit.connections, loops: negotiates ? 1 : loops))
    let index = freeQueues.popLast() ?? queues.count
    if index == queues.count { queues.append(queue) } else { queues[index] = queue }
    queueIndex[key] = index
    return index
  }

  private mutating func free(_ queue: Int) {
    if let key = queues[queue].key { queueIndex[key] = nil }
    queues[queue].key = nil
    freeQueues.append(queue)
  }

  /// Takes a request off its connection. Returns `false` if it has none.
  private mutating func end(_ index: Int) -> Bool {
    let entry = entries[index]
    switch entry.state {
    case .free, .waiting: return false
    case .begun: queues[entry.queue].limit.end(port: nil, use: entry.use)
    case .sent(let port): queues[entry.queue].limit.end(port: port, use: entry.use)
    }
    queues[entry.queue].lanes.release(entry.lane)
    return true
  }

  // MARK: - Lists

  private mutating func append(_ index: Int) {
    let queue = entries[index].queue
    let place = entries[index].place
    var list = queues[queue][place]
    entries[index].previous = list.last
    entries[index].next = -1
    if list.last < 0 { list.first = index } else { entries[list.last].next = index }
    list.last = index
    queues[queue][place] = list
  }

  private mutating func unlink(_ index: Int) {
    let entry = entries[index]
    var list = queues[entry.queue][entry.place]
    if entry.previous < 0 { list.first = entry.next } else { entries[entry.previous].next = entry.next }
    if entry.next < 0 { list.last = entry.previous } else { entries[entry.next].previous = entry.previous }
    queues[entry.queue][entry.place] = list
  }
}
