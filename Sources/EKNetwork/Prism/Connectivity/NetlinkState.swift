/// The state of the machine's network, updated message by message. A value without side effects: it decides which
/// action its owner performs.
struct NetlinkState {
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
    /// Report the connectivity known so far, and request the dumps again.
    case reportAndRequest(Bool, Dump, sequence: UInt32)
  }

  /// The number of interrupted dumps after which the incomplete state is reported.
  private static let maximumInterruptions = 16

  private var links: [Int32: NetlinkMessage.Link] = [:]
  private var addresses: Set<NetlinkMessage.Address> = []
  private var routes: Set<NetlinkMessage.Route> = []
  private var open: [Dump] = []
  private var sequence: UInt32 = 0
  private var mustStartOver = false
  private var interruptions = 0

  /// Whether a dump is in progress.
  var isDumping: Bool { !open.isEmpty }

  /// Whether packets can leave the machine: over a link that is running and has an address, along a route through it.
  var isConnected: Bool {
    let running = Set(links.values.lazy.filter { $0.isRunning && !$0.isLoopback }.map(\.index))
    let usable = running.intersection(addresses.lazy.map(\.index))
    return routes.contains { $0.indices.contains(where: usable.contains) }
  }

  /// Clears the state and requests all dumps.
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

  mutating func received(_ message: NetlinkMessage) -> Action {
    switch message {
    case .link(let link):
      let wasUp = links[link.index]?.isUp
      links[link.index] = link
      // The kernel removes the routes of a link that is brought down without sending a message.
      if wasUp == true, !link.isUp { return start() }
    case .linkRemoved(let index):
      links[index] = nil
      addresses = addresses.filter { $0.index != index }
      routes = routes.filter { $0.indices != [index] }
    case .address(let address): addresses.insert(address)
    case .addressRemoved(let address): addresses.remove(address)
    case .route(let route, let replaces):
      if replaces { routes = routes.filter { !$0.isReplaced(by: route) } }
      routes.insert(route)
    case .routeRemoved(let route): routes.remove(route)
    case .done(let number, let wasInterrupted):
      guard number == sequence, !open.isEmpty else { return .none }
      if wasInterrupted { mustStartOver = true }
      return dumpEnded()
    case .refused(let number, _):
      guard number == sequence, !open.isEmpty else { return .none }
      return dumpEnded()
    case .overrun: return start()
    }
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
    interruptions = 0
    let isConnected = isConnected
    guard mustStartOver, case .request(let dump, let sequence) = start() else { return .report(isConnected) }
    return .reportAndRequest(isConnected, dump, sequence: sequence)
  }

  private mutating func request() -> Action {
    sequence &+= 1
    return .request(open[0], sequence: sequence)
  }
}
