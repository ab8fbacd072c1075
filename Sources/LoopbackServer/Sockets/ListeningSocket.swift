import Foundation

/// A socket that listens on 127.0.0.1, or on a path.
final class ListeningSocket: Sendable {
  enum Acceptance {
    case connection(Int32)
    case nothing
    case stopped
  }

  let port: Int
  private let descriptor: Int32
  private let wake: WakePipe
  private let isWoken = Monitor(false)
  private let isClosed = Monitor(false)

  init(port: Int, path: String? = nil, backlog: Int, sendBufferSize: Int?, receiveBufferSize: Int?) throws {
    let (descriptor, port) = try path.map { (try Self.bind(path: $0), 0) } ?? Self.bind(port: port)
    self.descriptor = descriptor
    self.port = port
    Self.allowReuse(of: descriptor)
    // Accepted sockets inherit the sizes; if set before listening, the receive size bounds the window from the start.
    for (option, size) in [(SO_SNDBUF, sendBufferSize), (SO_RCVBUF, receiveBufferSize)] {
      guard let size else { continue }
      var value = Int32(clamping: size)
      setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    guard listen(descriptor, Int32(clamping: backlog)) == 0, let pipe = WakePipe() else {
      let error = LoopbackServer.SocketError(call: "listen", code: errno)
      _ = closeDescriptor(descriptor)
      throw error
    }
    wake = pipe
  }

  deinit {
    stop()
    close()
    _ = closeDescriptor(wake.reading)
  }

  /// Binds a socket to a port of 127.0.0.1, or to a free one for 0, without listening.
  static func bind(port: Int = 0) throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, streamSocket, 0)
    guard descriptor >= 0 else { throw LoopbackServer.SocketError(call: "socket", code: errno) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    if port != 0 { allowReuse(of: descriptor) }
    let port = withLoopbackAddress(port: port) { address, length -> Int? in
      var length = length
      guard bindAddress(descriptor, address, length) == 0, getsockname(descriptor, address, &length) == 0 else {
        return nil
      }
      return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        Int(UInt16(bigEndian: $0.pointee.sin_port))
      }
    }
    guard let port else {
      let error = LoopbackServer.SocketError(call: "bind", code: errno)
      _ = closeDescriptor(descriptor)
      throw error
    }
    return (descriptor, port)
  }

  /// Binds a socket to a path, without listening.
  private static func bind(path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, streamSocket, 0)
    guard descriptor >= 0 else { throw LoopbackServer.SocketError(call: "socket", code: errno) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    errno = ENAMETOOLONG
    let isBound =
      withUnsafeMutableBytes(of: &address.sun_path) { target in
        // It ends with a NUL.
        guard bytes.count < target.count else { return false }
        target.copyBytes(from: bytes)
        return true
      }
      && withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bindAddress(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
      }
    guard isBound else {
      let error = LoopbackServer.SocketError(call: "bind", code: errno)
      _ = closeDescriptor(descriptor)
      throw error
    }
    return descriptor
  }

  /// Sets SO_REUSEADDR, because connections of a previous server may linger (TIME_WAIT). Both servers have to set it,
  /// but not while the system selects a free port, or two servers might get the same.
  private static func allowReuse(of descriptor: Int32) {
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Waits for a connection and accepts it.
  func accept() -> Acceptance {
    guard let events = pollEvents([(descriptor, Int16(POLLIN)), (wake.reading, Int16(POLLIN))], timeout: nil) else {
      return .nothing
    }
    if events[1] != 0 { return .stopped }
    let accepted = acceptConnection(descriptor)
    if accepted >= 0 { return .connection(accepted) }
    // Out of descriptors: the connection stays in the queue, so all that can be done is wait.
    if errno == EMFILE || errno == ENFILE, pause(for: .milliseconds(10)) { return .stopped }
    return .nothing
  }

  /// Waits for a duration. Returns true if the server is stopping.
  func pause(for duration: Duration) -> Bool {
    pollEvents([(wake.reading, Int16(POLLIN))], timeout: duration) != nil
  }

  /// Waits until a gate is open. Returns true if the server is stopping.
  func pause(for gate: Gate) -> Bool {
    withExtendedLifetime(gate) {
      let events = pollEvents([(wake.reading, Int16(POLLIN)), (gate.pollDescriptor, Int16(POLLIN))], timeout: nil)
      return events?[0] != 0
    }
  }

  /// Makes current and later calls of `accept` and `pause` return.
  func stop() {
    isWoken.withLock { isWoken in
      guard !isWoken else { return }
      isWoken = true
      var pipe = wake
      pipe.closeWriting()
    }
  }

  /// Closes the port, which refuses connections afterwards. No thread may still be in `accept`.
  func close() {
    isClosed.withLock { isClosed in
      if !isClosed { _ = closeDescriptor(descriptor) }
      isClosed = true
    }
  }
}
