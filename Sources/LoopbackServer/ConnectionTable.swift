import Foundation

/// The connections of a server and the threads that serve them.
final class ConnectionTable: Sendable {
  private struct State: Sendable {
    var sockets: [Int: Socket] = [:]
    var threads = 0
    var accepted = 0
    var peak = 0
    var isStopping = false
    /// Whether the remaining threads will not be joined.
    var isStopped = false
    /// The thread that ended last. The next one to end joins it, so that at most one ended thread is not joined.
    var ended: WorkerThread?
  }

  private let state = Monitor(State())
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  var open: Int { state.withLock { $0.sockets.count } }
  var accepted: Int { state.withLock { $0.accepted } }
  var peak: Int { state.withLock { $0.peak } }

  /// Serves a connection on a thread of its own and closes it afterwards. A connection beyond the limit is closed at
  /// once.
  func serve(_ descriptor: Int32, with body: @escaping @Sendable (Socket, Int) -> Void) {
    let socket = Socket(adopting: descriptor)
    let number: Int? = state.withLock { state in
      let number = state.accepted
      state.accepted += 1
      guard !state.isStopping, state.sockets.count < limit else { return nil }
      state.sockets[number] = socket
      if state.sockets.count > state.peak { state.peak = max(state.peak, Socket.open(among: state.sockets.values)) }
      state.threads += 1
      return number
    }
    guard let number else { return socket.close() }
    let thread = WorkerThread.start { [self] in
      Socket.$current.withValue(socket) { body(socket, number) }
      socket.close()
      threadEnded(number)
    }
    guard thread == nil else { return }
    socket.close()
    state.withLock { state in
      state.sockets[number] = nil
      state.threads -= 1
    }
  }

  private func threadEnded(_ number: Int) {
    let this = WorkerThread.current
    let previous: WorkerThread? = state.withLock { state in
      state.sockets[number] = nil
      state.threads -= 1
      guard !state.isStopped else { return this }
      defer { state.ended = this }
      return state.ended
    }
    if previous == this { this.detach() } else { previous?.join() }
  }

  /// Shuts down every connection and waits for its thread, except the calling thread if it serves a connection.
  func stop() {
    let sockets = state.withLock { state in
      state.isStopping = true
      return Array(state.sockets.values)
    }
    for socket in sockets { socket.shutDown() }
    let own = Socket.current.map { current in sockets.contains { $0 === current } } == true ? 1 : 0
    // A handler that blocks for ever must not block the test as well.
    _ = state.waitBlocking(timeout: .seconds(20)) { $0.threads <= own }
    let ended = state.withLock { state in
      state.isStopped = true
      defer { state.ended = nil }
      return state.ended
    }
    ended?.join()
  }

  func waitForOpen(_ count: Int, timeout: Duration) async -> Bool {
    await state.wait(timeout: timeout) { $0.sockets.count == count }
  }

  func waitForAccepted(_ count: Int, timeout: Duration) async -> Bool {
    await state.wait(timeout: timeout) { $0.accepted >= count }
  }

  /// Shuts down every connection; the server keeps running.
  func dropAll() {
    for socket in state.withLock({ Array($0.sockets.values) }) { socket.shutDown() }
  }
}
