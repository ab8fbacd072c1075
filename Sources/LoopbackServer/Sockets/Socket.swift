import Foundation

/// A connected TCP socket. One thread reads, writes and closes it; any thread may shut it down.
final class Socket: Sendable {
  enum WaitResult { case timedOut, signalled, hungUp }

  /// The socket that the calling thread serves.
  @TaskLocal static var current: Socket?

  private let descriptor: Int32
  private let isClosed = Monitor(false)

  /// The descriptor, or -1 once it is closed: its number may have been reused by then.
  private var live: Int32 { isClosed.withLock { $0 } ? -1 : descriptor }

  init(adopting descriptor: Int32) {
    self.descriptor = descriptor
    var one: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(descriptor, tcpProtocol, TCP_NODELAY, &one, size)
    #if canImport(Darwin)
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, size)
    #endif
    // A descriptor accepted from a non-blocking listener is non-blocking on Darwin.
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  deinit { close() }

  /// Receives into the buffer, blocking. Returns 0 if the client has closed its side, and -1 if the connection is
  /// broken.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let count = recv(live, buffer.baseAddress, buffer.count, 0)
      if count >= 0 || errno != EINTR { return count }
    }
  }

  /// Sends all bytes, blocking. Returns false if the connection is broken.
  func send(_ bytes: UnsafeRawBufferPointer, more: Bool = false) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = UnsafeRawBufferPointer(rebasing: rest)
      let count = sendBytes(live, part, more ? sendFlags | moreFlag : sendFlags)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Sends as much as possible without blocking. Returns 0 if the client accepts nothing at the moment, and -1 if the
  /// connection is broken.
  func sendWithoutBlocking(_ bytes: UnsafeRawBufferPointer) -> Int {
    let count = sendBytes(live, bytes, sendFlags | Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR { return 0 }
    return count
  }

  /// Waits until the client accepts more bytes. Returns false if the timeout expired.
  func waitUntilWritable(timeout: Duration?) -> Bool {
    pollEvents([(live, Int16(POLLOUT))], timeout: timeout) != nil
  }

  /// Waits until bytes, or the end of the stream, have arrived. Returns false if the timeout expired.
  func waitUntilReadable(timeout: Duration?) -> Bool {
    pollEvents([(live, Int16(POLLIN))], timeout: timeout) != nil
  }

  /// Waits until the client disconnects, the socket is shut down or the timeout expires.
  func wait(timeout: Duration?) -> WaitResult {
    pollEvents([(live, hangUpEvents)], timeout: timeout) == nil ? .timedOut : .hungUp
  }

  /// Waits until a gate is open, the client disconnects, the socket is shut down or the timeout expires.
  func wait(for gate: Gate, timeout: Duration?) -> WaitResult {
    if gate.isOpen { return .signalled }
    // The gate, and with it the descriptor, lives at least as long as this frame.
    return withExtendedLifetime(gate) {
      let signal = gate.pollDescriptor
      // If there is no descriptor left for the gate, nothing would ever wake this thread: treat the connection as
      // ended.
      guard signal >= 0 else { return .hungUp }
      let wanted = [(live, hangUpEvents), (signal, Int16(POLLIN))]
      guard let events = pollEvents(wanted, timeout: timeout) else { return .timedOut }
      return events[1] != 0 ? .signalled : .hungUp
    }
  }

  /// The number of sockets that are closed at neither end. One that the client has closed counts as closed although the
  /// thread that serves it may not have noticed.
  static func open(among sockets: some Collection<Socket>) -> Int {
    let descriptors = sockets.map(\.live).filter { $0 >= 0 }
    guard let events = pollEvents(descriptors.map { ($0, hangUpEvents) }, timeout: .zero) else {
      return descriptors.count
    }
    return events.count { $0 == 0 }
  }

  /// Whether there are unread bytes. Closing then makes the system send RST instead of FIN.
  var hasUnreadBytes: Bool {
    var byte: UInt8 = 0
    return recv(live, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
  }

  /// Shuts down the sending side (FIN).
  func shutDownSending() { shutDown(how: Int32(SHUT_WR)) }

  /// Shuts down both sides: a thread that is blocked in this socket returns.
  func shutDown() { shutDown(how: Int32(SHUT_RDWR)) }

  private func shutDown(how: Int32) {
    // Under the lock, because after closing the number may belong to another descriptor.
    isClosed.withLock { isClosed in
      if !isClosed { _ = shutdown(descriptor, how) }
    }
  }

  /// Closes the descriptor, once.
  func close() {
    isClosed.withLock { isClosed in
      if !isClosed { _ = closeDescriptor(descriptor) }
      isClosed = true
    }
  }

  /// Closes with a reset (RST).
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }
}
