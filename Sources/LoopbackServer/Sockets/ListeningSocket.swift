import Foundation

/// A socket that listens on 127.0.0.1, on a port that the system chose.
final class ListeningSocket: Sendable {
  enum Acceptance {
    case connection(Int32)
    case nothing
    case stopped
  }

  let port: Int
  private let descriptor: Int32
  private let wake: Pipe
  private let isWoken = Monitor(false)

  init(backlog: Int, sendBufferSize: Int?, receiveBufferSize: Int?) throws {
    let (descriptor, port) = try Self.bind()
    self.descriptor = descriptor
    self.port = port
    // Accepted sockets inherit the sizes; set before listening, the receive size bounds the window from the start.
    for (option, size) in [(SO_SNDBUF, sendBufferSize), (SO_RCVBUF, receiveBufferSize)] {
      guard let size else { continue }
      var value = Int32(clamping: size)
      setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    guard listen(descriptor, Int32(clamping: backlog)) == 0, let pipe = Pipe() else {
      let error = LoopbackServer.SocketError(call: "listen", code: errno)
      _ = closeDescriptor(descriptor)
      throw error
    }
    wake = pipe
  }

  deinit {
    var pipe = wake
    if isWoken.withLock({ $0 }) { _ = closeDescriptor(pipe.reading) } else { pipe.closeBoth() }
    _ = closeDescriptor(descriptor)
  }

  /// Binds a socket to a free port of 127.0.0.1, without listening.
  static func bind() throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, streamSocket, 0)
    guard descriptor >= 0 else { throw LoopbackServer.SocketError(call: "socket", code: errno) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int32 in
        let bound = bindAddress(descriptor, address, length)
        return bound == 0 ? getsockname(descriptor, address, &length) : bound
      }
    }
    guard result == 0 else {
      let error = LoopbackServer.SocketError(call: "bind", code: errno)
      _ = closeDescriptor(descriptor)
      throw error
    }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// Waits for a connection and accepts it.
  func accept() -> Acceptance {
    guard let events = poll([(descriptor, Int16(POLLIN)), (wake.reading, Int16(POLLIN))], timeout: nil) else {
      return .nothing
    }
    if events[1] != 0 { return .stopped }
    let accepted = acceptConnection(descriptor)
    if accepted >= 0 { return .connection(accepted) }
    // Out of descriptors: the connection stays in the queue, so waiting is all that can be done.
    if errno == EMFILE || errno == ENFILE, pause(for: .milliseconds(10)) { return .stopped }
    return .nothing
  }

  /// Waits for a while. Returns true when the server is stopping.
  func pause(for duration: Duration) -> Bool {
    poll([(wake.reading, Int16(POLLIN))], timeout: duration) != nil
  }

  /// Makes `accept` and `pause` return, now and from now on.
  func stop() {
    isWoken.withLock { isWoken in
      guard !isWoken else { return }
      isWoken = true
      var pipe = wake
      pipe.closeWriting()
    }
  }
}
