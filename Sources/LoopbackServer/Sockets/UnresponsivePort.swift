import Foundation

extension LoopbackServer {
  /// A port of 127.0.0.1 on which a connection attempt never completes: its queue is full and nothing is accepted.
  public final class UnresponsivePort: Sendable {
    /// The port number.
    public let port: Int
    private let descriptors: [Int32]

    /// Reserves a free port and fills its queue. Throws ``SocketError`` if the queue cannot be filled.
    public init() throws {
      let (listener, port) = try ListeningSocket.bind()
      self.port = port
      var descriptors = [listener]
      guard listen(listener, 0) == 0 else {
        _ = closeDescriptor(listener)
        throw SocketError(call: "listen", code: errno)
      }
      // Systems round the length of the queue up, so it is filled until a connection no longer completes.
      while descriptors.count < 1024 {
        let descriptor = socket(AF_INET, streamSocket, 0)
        guard descriptor >= 0 else { break }
        descriptors.append(descriptor)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        connectLoopback(descriptor, port: port)
        if pollEvents([(descriptor, Int16(POLLOUT))], timeout: .milliseconds(100)) == nil {
          _ = closeDescriptor(descriptors.removeLast())
          self.descriptors = descriptors
          return
        }
      }
      let code = errno
      for descriptor in descriptors { _ = closeDescriptor(descriptor) }
      throw SocketError(call: "connect", code: code)
    }

    deinit { for descriptor in descriptors { _ = closeDescriptor(descriptor) } }
  }
}
