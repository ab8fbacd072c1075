/// A message of the kernel about the network (rtnetlink(7)), reduced to what determines connectivity.
///
/// A value parsed from bytes, so that it can be read, and tested, on any platform.
enum NetlinkMessage: Equatable, Sendable {
  struct Link: Equatable, Sendable {
    var index: Int32
    var isUp: Bool
    /// Whether the link is up and has a carrier.
    var isRunning: Bool
    var isLoopback: Bool
    /// Whether it is an entry of a dump, and not the message of a change.
    var isDumped = false
  }

  struct Address: Hashable, Sendable {
    var family: UInt8
    var index: Int32
    var prefixLength: UInt8
    var bytes: [UInt8]
  }

  struct Route: Hashable, Sendable {
    var family: UInt8
    var table: UInt32
    var destination: [UInt8]
    var destinationLength: UInt8
    var priority: UInt32
    var gateway: [UInt8]
    /// The indices of the links that it leads through.
    var indices: [Int32]

    /// Whether it differs from another route only in where it leads, so that one can replace the other.
    func hasPlace(of other: Route) -> Bool {
      family == other.family && table == other.table && destination == other.destination
        && destinationLength == other.destinationLength && priority == other.priority
    }
  }

  case link(Link)
  case linkRemoved(index: Int32)
  /// An address from which packets can be sent to other networks.
  case address(Address)
  case addressRemoved(Address)
  /// A route that leads out of the local networks.
  case route(Route, replaces: Bool)
  case routeRemoved(Route)
  /// The end of the response to a dump request, which may be an error.
  case done(sequence: UInt32, wasInterrupted: Bool)
  /// A notice that messages were lost.
  case overrun

  /// Whether an entry of a dump may contradict it: the kernel may have read that entry before the change, and sent it after
  /// the message.
  var isChange: Bool {
    switch self {
    case .link(let link): !link.isDumped
    case .linkRemoved, .addressRemoved, .routeRemoved: true
    case .route(_, let replaces): replaces
    case .address, .done, .overrun: false
    }
  }

  /// Returns the messages of one datagram, without those that cannot be parsed or do not matter.
  static func parse(_ datagram: [UInt8]) -> [NetlinkMessage] {
    NetlinkBytes(datagram[...]).records(atLeast: 16) { $0.uint32(0).map { Int($0) } }.compactMap(parse)
  }

  private static func parse(_ message: NetlinkBytes) -> NetlinkMessage? {
    guard let type = message.uint16(4), let flags = message.uint16(6), let sequence = message.uint32(8) else {
      return nil
    }
    let payload = message.dropFirst(16)
    switch type {
    case 2:  // NLMSG_ERROR; the code 0 is an acknowledgement.
      guard let code = payload.int32(0), code != 0 else { return nil }
      return .done(sequence: sequence, wasInterrupted: false)
    case 3: return .done(sequence: sequence, wasInterrupted: flags & 0x10 != 0)  // NLM_F_DUMP_INTR
    case 4: return .overrun
    case 16: return link(payload, isDumped: flags & 0x2 != 0).map { .link($0) }  // NLM_F_MULTI
    case 17: return link(payload).map { .linkRemoved(index: $0.index) }
    case 20, 21: return address(payload, isRemoved: type == 21, isDumped: flags & 0x2 != 0)
    case 24, 25: return route(payload).map { type == 24 ? .route($0, replaces: flags & 0x100 != 0) : .routeRemoved($0) }
    default: return nil
    }
  }

  /// Parses a `struct ifinfomsg`. Those of another family are about a bridge port.
  private static func link(_ payload: NetlinkBytes, isDumped: Bool = false) -> Link? {
    guard payload.uint8(0) == 0, let index = payload.int32(4), let flags = payload.uint32(8) else { return nil }
    let isUp = flags & 1 != 0
    return Link(
      index: index, isUp: isUp, isRunning: isUp && flags & 0x40 != 0, isLoopback: flags & 8 != 0, isDumped: isDumped)
  }

  /// Parses a `struct ifaddrmsg`.
  private static func address(_ payload: NetlinkBytes, isRemoved: Bool, isDumped: Bool) -> NetlinkMessage? {
    guard let family = payload.uint8(0), let prefixLength = payload.uint8(1), let shortFlags = payload.uint8(2),
      let scope = payload.uint8(3), let index = payload.int32(4)
    else { return nil }
    // Addresses of RT_SCOPE_LINK, RT_SCOPE_HOST and RT_SCOPE_NOWHERE do not reach another network.
    guard scope < 253 else { return nil }
    var bytes: [UInt8] = []
    var flags = UInt32(shortFlags)
    payload.dropFirst(8).attributes { type, value in
      switch type {
      case 1 where bytes.isEmpty: bytes = value.bytes  // IFA_ADDRESS
      case 2: bytes = value.bytes  // IFA_LOCAL
      case 8: flags = value.uint32(0) ?? flags  // IFA_FLAGS
      default: break
      }
    }
    let address = Address(family: family, index: index, prefixLength: prefixLength, bytes: bytes)
    // IFA_F_DADFAILED: another machine has the address, which may have been in use, as an optimistic one (RFC 4429 §3.3).
    let hasFailed = flags & 0x08 != 0
    if isRemoved || hasFailed && !isDumped { return .addressRemoved(address) }
    // A tentative address that is not optimistic is announced again once it can be used.
    return hasFailed || flags & 0x40 != 0 && flags & 0x04 == 0 ? nil : .address(address)
  }

  /// Parses a `struct rtmsg`.
  private static func route(_ payload: NetlinkBytes) -> Route? {
    guard let family = payload.uint8(0), let length = payload.uint8(1), let table = payload.uint8(4),
      let type = payload.uint8(7), let flags = payload.uint32(8)
    else { return nil }
    // Only RTN_UNICAST, and without RTM_F_CLONED, which marks a route to a single host.
    guard type == 1, flags & 0x200 == 0 else { return nil }
    var route = Route(
      family: family, table: UInt32(table), destination: [], destinationLength: length, priority: 0, gateway: [],
      indices: [])
    var hasGateway = false
    payload.dropFirst(12).attributes { type, value in
      switch type {
      case 1: route.destination = value.bytes  // RTA_DST
      case 4: if let index = value.int32(0) { route.indices.append(index) }  // RTA_OIF
      case 5, 18:  // RTA_GATEWAY, RTA_VIA
        route.gateway = value.bytes
        hasGateway = true
      case 6: route.priority = value.uint32(0) ?? 0  // RTA_PRIORITY
      case 9:  // RTA_MULTIPATH
        hasGateway = true
        value.nextHops { route.indices.append($0) }
      case 15: route.table = value.uint32(0) ?? route.table  // RTA_TABLE
      default: break
      }
    }
    // A tunnel may cover the whole address space with two routes of prefix length 1.
    guard hasGateway || length <= 1 else { return nil }
    return route
  }
}

/// A bounds-checked reader of bytes from the kernel, in native byte order.
struct NetlinkBytes {
  private let slice: ArraySlice<UInt8>

  init(_ slice: ArraySlice<UInt8>) { self.slice = slice }

  var bytes: [UInt8] { Array(slice) }

  func uint8(_ offset: Int) -> UInt8? { load(offset) }
  func uint16(_ offset: Int) -> UInt16? { load(offset) }
  func uint32(_ offset: Int) -> UInt32? { load(offset) }
  func int32(_ offset: Int) -> Int32? { load(offset) }

  /// Returns the first `count` bytes; `nil` if there are fewer.
  func prefix(_ count: Int) -> NetlinkBytes? { count <= slice.count ? NetlinkBytes(slice.prefix(count)) : nil }

  func dropFirst(_ count: Int) -> NetlinkBytes { NetlinkBytes(slice.dropFirst(count)) }

  /// Calls `body` with each attribute (`struct rtattr`).
  func attributes(_ body: (_ type: UInt16, _ value: NetlinkBytes) -> Void) {
    for attribute in records(atLeast: 4, length: { $0.uint16(0).map { Int($0) } }) {
      // The two highest bits are flags that describe the encoding of the value.
      if let type = attribute.uint16(2) { body(type & 0x3FFF, attribute.dropFirst(4)) }
    }
  }

  /// Calls `body` with the link index of each next hop of a multipath route (`struct rtnexthop`).
  func nextHops(_ body: (Int32) -> Void) {
    for hop in records(atLeast: 8, length: { $0.uint16(0).map { Int($0) } }) { hop.int32(4).map(body) }
  }

  /// Returns the records that follow each other, each of which begins at a multiple of four bytes.
  func records(atLeast minimum: Int, length: (NetlinkBytes) -> Int?) -> [NetlinkBytes] {
    var (rest, records) = (self, [NetlinkBytes]())
    while let length = length(rest), length >= minimum, let record = rest.prefix(length) {
      records.append(record)
      rest = rest.dropFirst((length + 3) & ~3)
    }
    return records
  }

  private func load<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> Value? {
    guard offset >= 0, slice.count - offset >= MemoryLayout<Value>.size else { return nil }
    return slice.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Value.self) }
  }
}
