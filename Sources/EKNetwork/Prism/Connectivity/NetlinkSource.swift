#if os(Linux)
  import CCurl
  @preconcurrency import Dispatch
  import Foundation

  /// A source that listens to the kernel on a netlink socket and performs the actions of ``NetlinkState``.
  final class NetlinkSource: Sendable {
    /// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR, RTMGRP_IPV6_ROUTE.
    private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
    /// The maximum time for the first responses, in milliseconds. The kernel sends them at once.
    private static let initialTimeout: Int32 = 2_000
    /// The time between dumps on a machine whose network changes during each of them, in seconds.
    private static let pause = 2

    private let descriptor: Int32
    private let queue = DispatchQueue(label: "EKNetwork.connectivity")
    private let report: @Sendable (Bool) -> Void
    private let state = Locked(NetlinkState())
    // Resumed once, in `init`, and afterwards only cancelled, which any thread may do.
    nonisolated(unsafe) private let source: any DispatchSourceRead

    /// Reads the initial state before it returns; `nil` where there is no netlink socket.
    init?(_ report: @escaping @Sendable (Bool) -> Void) {
      let descriptor = ekn_socket_open_netlink(Self.groups)
      guard descriptor >= 0 else { return nil }
      self.descriptor = descriptor
      self.report = report
      source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      perform { $0.start() }
      // Changes that never stop must not delay the caller for longer than this.
      let end = ContinuousClock.now + .milliseconds(Int64(Self.initialTimeout))
      while state.withLock({ $0.isDumping }), ContinuousClock.now < end {
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&poller, 1, Self.initialTimeout) > 0 || errno == EINTR else { break }
        drain()
      }
      source.setEventHandler { [weak self] in self?.drain() }
      source.setCancelHandler { close(descriptor) }
      source.resume()
    }

    deinit { source.cancel() }

    private func drain() {
      // A datagram of a dump is at most 32 KiB long.
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        var sender: [UInt32] = [0, 0, 0]
        var length = socklen_t(12)
        let count = buffer.withUnsafeMutableBytes { bytes in
          sender.withUnsafeMutableBytes { sender in
            recvfrom(
              descriptor, bytes.baseAddress, bytes.count, Int32(MSG_TRUNC),
              sender.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
          }
        }
        if count < 0, errno == EINTR { continue }
        // ENOBUFS: the socket's receive buffer overflowed.
        guard count > 0 || count < 0 && errno == ENOBUFS else { return }
        // Any process may send to the socket; the kernel has port 0.
        if count > 0, length < 8 || sender[1] != 0 { continue }
        let isWhole = (1...buffer.count).contains(count)
        for message in isWhole ? NetlinkMessage.parse(Array(buffer[..<count])) : [.overrun] {
          perform { $0.received(message) }
        }
      }
    }

    private func perform(_ change: (inout NetlinkState) -> NetlinkState.Action) {
      switch state.withLock({ change(&$0) }) {
      case .none: break
      case .report(let isConnected): report(isConnected)
      case .request(let dump, let sequence): request(dump, sequence)
      case .reportAndPause(let isConnected):
        report(isConnected)
        queue.asyncAfter(deadline: .now() + .seconds(Self.pause)) { [weak self] in self?.perform { $0.endPause() } }
      }
    }

    /// Sends a dump request: a `struct nlmsghdr`, and a `struct rtgenmsg` with family 0 for all.
    private func request(_ dump: NetlinkState.Dump, _ sequence: UInt32) {
      // NLM_F_REQUEST, NLM_F_DUMP.
      let flags: UInt16 = 0x1 | 0x300
      let request: (UInt32, UInt16, UInt16, UInt32, UInt32, UInt32) = (20, dump.rawValue, flags, sequence, 0, 0)
      let sent = withUnsafeBytes(of: request) { bytes in
        var count: Int
        repeat { count = send(descriptor, bytes.baseAddress, bytes.count, 0) } while count < 0 && errno == EINTR
        return count
      }
      if sent < 0 { perform { $0.received(.done(sequence: sequence, wasInterrupted: false)) } }
    }
  }
#endif

/// The state of the machine's network, updated message by message. A value without side effects: it decides which
/// action its owner performs.
struct NetlinkState {
  /// Links come first: the kernel dumps them under the lock that it holds from the message about an address or a link until
  /// it has removed the routes, so that the routes are not dumped before that.
  enum Dump: UInt16, CaseIterable, Sendable {
    case links = 18  // RTM_GETLINK
    case addresses = 22  // RTM_GETADDR
    case routes = 26  // RTM_GETROUTE
  }

  enum Action: Equatable {
    case none
    /// Request a dump of all objects of a kind. There is one dump at a time.
    case request(Dump, sequence: UInt32)
    /// Report the connectivity, which is known completely.
    case report(Bool)
    /// Report the connectivity known so far, and call ``endPause()`` after a while.
    case reportAndPause(Bool)
  }

  /// The number of dumps interrupted in a row after which the incomplete state is reported.
  private static let maximumInterruptions = 16

  private var links: [Int32: NetlinkMessage.Link] = [:]
  private var addresses: Set<NetlinkMessage.Address> = []
  private var routes: Set<NetlinkMessage.Route> = []
  private var open: [Dump] = []
  private var sequence: UInt32 = 0
  private var mustStartOver = false
  private var interruptions = 0
  private var isPaused = false

  var isDumping: Bool { !open.isEmpty }

  /// Whether packets can leave the machine: over a link that is running and has an address, along a route through it.
  var isConnected: Bool {
    let running = Set(links.values.lazy.filter { $0.isRunning && !$0.isLoopback }.map(\.index))
    let usable = running.intersection(addresses.lazy.map(\.index))
    return routes.contains { $0.indices.contains(where: usable.contains) }
  }

  mutating func start() -> Action {
    guard open.isEmpty else {
      // One dump at a time: the kernel returns EBUSY for a second.
      mustStartOver = true
      return .none
    }
    mustStartOver = false
    links = [:]
    addresses = []
    routes = []
    open = Dump.allCases
    return request()
  }

  /// Starts over after a ``Action/reportAndPause(_:)``.
  mutating func endPause() -> Action {
    isPaused = false
    return start()
  }

  mutating func received(_ message: NetlinkMessage) -> Action {
    if isDumping, message.isChange { mustStartOver = true }
    var isIncomplete = false
    switch message {
    case .link(let link):
      let wasUp = links[link.index]?.isUp
      links[link.index] = link
      // The kernel removes the routes of a link that is brought down without sending a message.
      isIncomplete = wasUp == true && !link.isUp
    case .linkRemoved(let index):
      links[index] = nil
      addresses = addresses.filter { $0.index != index }
      routes = routes.filter { $0.indices != [index] }
    case .address(let address): addresses.insert(address)
    case .addressRemoved(let address):
      addresses.remove(address)
      // Nor does it announce that IPv4 routes go with the last address of their link, or, before Linux 6.7, with the one
      // that is their source.
      isIncomplete = address.family == 2
    case .route(let route, let replaces):
      if replaces { routes = routes.filter { !$0.hasPlace(of: route) } }
      routes.insert(route)
    case .routeRemoved(let route):
      routes.remove(route)
      // IPv6 routes that differ only in where they lead are one route with several next hops in a dump and when one is
      // added to them, but are removed one by one.
      isIncomplete = routes.contains { $0.hasPlace(of: route) }
    case .done(let number, let wasInterrupted):
      guard number == sequence, !open.isEmpty else { return .none }
      if wasInterrupted { mustStartOver = true }
      return dumpEnded()
    case .overrun: isIncomplete = true
    }
    // All is dumped after a pause.
    if isIncomplete, !isPaused { return start() }
    return open.isEmpty ? .report(isConnected) : .none
  }

  private mutating func dumpEnded() -> Action {
    open.removeFirst()
    if mustStartOver, interruptions < Self.maximumInterruptions {
      interruptions += 1
      open = []
      return start()
    }
    guard open.isEmpty else { return request() }
    isPaused = mustStartOver
    guard !isPaused else { return .reportAndPause(isConnected) }
    interruptions = 0
    return .report(isConnected)
  }

  private mutating func request() -> Action {
    sequence &+= 1
    return .request(open[0], sequence: sequence)
  }
}
