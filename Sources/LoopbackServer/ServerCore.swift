import Foundation

/// The state that the threads of a server share. It does not reference the server, so that deallocating the server
/// stops them.
final class ServerCore: Sendable {
  let options: LoopbackServer.Options
  let listener: ListeningSocket
  let connections: ConnectionTable
  let router = Monitor(Router())
  let records: Monitor<RecordBook>
  let bytesSent = ByteCounter()
  private let acceptThread = Monitor<WorkerThread?>(nil)

  init(options: LoopbackServer.Options) throws {
    self.options = options
    listener = try ListeningSocket(
      port: options.port, path: options.socketPath, backlog: options.backlog, sendBufferSize: options.sendBufferSize,
      receiveBufferSize: options.receiveBufferSize)
    connections = ConnectionTable(limit: options.maximumConnections)
    records = Monitor(RecordBook(limit: options.recordLimit, bodyLimit: options.recordedBodyLimit))
    guard let thread = WorkerThread.start({ [self] in acceptConnections() }) else {
      throw LoopbackServer.SocketError(call: "pthread_create", code: EAGAIN)
    }
    acceptThread.withLock { $0 = thread }
  }

  private func acceptConnections() {
    if let gate = options.acceptGate, listener.pause(for: gate) { return }
    while true {
      if let delay = options.acceptDelay, listener.pause(for: delay) { return }
      switch listener.accept() {
      case .stopped:
        return
      case .nothing:
        continue
      case .connection(let descriptor):
        connections.serve(descriptor) { [self] socket, number in
          Connection(socket: socket, number: number, core: self).serve()
        }
      }
    }
  }

  func stop() {
    let thread = acceptThread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    // The caller that took the thread stops the rest; a second caller has nothing left to do.
    guard let thread else { return }
    listener.stop()
    thread.join()
    listener.close()
    connections.stop()
    // Handlers may hold the server, which holds this object.
    router.withLock { $0 = Router() }
  }
}
