#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Constants whose names or types differ between the systems.
#if canImport(Darwin)
  let streamSocket = SOCK_STREAM
  let tcpProtocol = IPPROTO_TCP
  let sendFlags: Int32 = 0
  let moreFlag: Int32 = 0
  /// The event that poll(2) reports when the client has disconnected.
  let hangUpEvents = Int16(POLLHUP)
#else
  let streamSocket = Int32(SOCK_STREAM.rawValue)
  let tcpProtocol = Int32(IPPROTO_TCP)
  let sendFlags = Int32(MSG_NOSIGNAL)
  let moreFlag = Int32(MSG_MORE)
  /// The event that poll(2) reports when the client has disconnected: POLLRDHUP, which Swift does not import. POLLHUP
  /// alone would only be reported once both sides have closed.
  let hangUpEvents = Int16(0x2000)
#endif

// System calls whose names are hidden by methods of this module.
func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }

func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, _ flags: Int32) -> Int {
  send(descriptor, bytes.baseAddress, bytes.count, flags)
}

func bindAddress(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
  bind(descriptor, address, length)
}

/// Starts a connection to a port of 127.0.0.1.
@discardableResult
func connectLoopback(_ descriptor: Int32, port: Int) -> Int32 {
  withLoopbackAddress(port: port) { connect(descriptor, $0, $1) }
}

/// Calls `body` with the socket address of a port of 127.0.0.1.
func withLoopbackAddress<Result>(
  port: Int, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
) -> Result {
  var address = sockaddr_in()
  #if canImport(Darwin)
    address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
  #endif
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
  address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
  return withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
}

func acceptConnection(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }

/// Waits until one of the descriptors reports an event. Returns the events of each; `nil` if the timeout expired.
func pollEvents(_ wanted: [(descriptor: Int32, events: Int16)], timeout: Duration?) -> [Int16]? {
  // poll(2) would ignore a closed descriptor for ever.
  if wanted.contains(where: { $0.descriptor < 0 }) {
    return wanted.map { $0.descriptor < 0 ? Int16(POLLNVAL) : 0 }
  }
  var descriptors = wanted.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
  let deadline = timeout.map { ContinuousClock.now + $0 }
  while true {
    let left = deadline.map { ContinuousClock.now.duration(to: $0).pollMilliseconds } ?? -1
    let count = poll(&descriptors, nfds_t(descriptors.count), left)
    if count > 0 { return descriptors.map(\.revents) }
    if count == 0 { return nil }
    // A signal only interrupts; any other failure is reported as an error of every descriptor.
    if errno != EINTR { return descriptors.map { _ in Int16(POLLERR) } }
  }
}
