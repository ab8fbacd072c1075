#if _endian(little)
  import Testing

  @testable import EKNetwork

  struct NetlinkStateTests {
    /// The state after the initial dumps and some recorded messages, and the actions that it returned.
    private func state(after recordings: [[UInt8]]) -> (NetlinkState, [NetlinkState.Action]) {
      var state = NetlinkState()
      var actions = [state.start()]
      for recording in [RecordedNetlink.dumpLinks, RecordedNetlink.dumpAddresses, RecordedNetlink.dumpRoutes]
        + recordings
      {
        feed(recording, to: &state, &actions)
      }
      return (state, actions)
    }

    private func feed(_ bytes: [UInt8], to state: inout NetlinkState, _ actions: inout [NetlinkState.Action]) {
      for message in NetlinkMessage.parse(bytes) { actions.append(state.received(message)) }
    }

    private let connected = [RecordedNetlink.up, RecordedNetlink.address, RecordedNetlink.route]

    @Test func dumpsAreRequestedInSequence() {
      let (state, actions) = state(after: [])
      #expect(
        actions.filter { $0 != .none } == [
          .request(.links, sequence: 1), .request(.addresses, sequence: 2), .request(.routes, sequence: 3),
          .report(false),
        ])
      #expect(!state.isDumping)
    }

    @Test func connectionNeedsLinkAddressAndRoute() {
      #expect(!state(after: []).0.isConnected)
      #expect(!state(after: [RecordedNetlink.up]).0.isConnected)
      #expect(!state(after: [RecordedNetlink.up, RecordedNetlink.address]).0.isConnected)
      let (state, actions) = state(after: connected)
      #expect(state.isConnected)
      #expect(actions.last == .report(true))
    }

    @Test func carrierLossAndReturnAreFollowed() throws {
      var (state, _) = state(after: connected)
      let running = NetlinkMessage.parse(RecordedNetlink.carrierBack).compactMap { message in
        if case .link(let link) = message, link.isRunning { link } else { nil }
      }
      for var link in running {
        link.isRunning = false
        #expect(state.received(.link(link)) != .none)
      }
      #expect(!running.isEmpty)
      #expect(!state.isConnected)
      for link in running { #expect(state.received(.link(link)) != .none) }
      #expect(state.isConnected)
    }

    @Test func linkDownStartsNewDump() {
      var (state, actions) = state(after: connected)
      actions = []
      feed(RecordedNetlink.down, to: &state, &actions)
      // The kernel removes the link's routes without a message: everything is dumped again.
      #expect(actions.contains(.request(.links, sequence: 4)))
      #expect(state.isDumping)
    }

    /// The kernel removes the routes of a link with its last IPv4 address, and sends no message about them. Before Linux 6.7
    /// that was also so for the routes whose source is the address.
    @Test func removedAddressStartsNewDump() throws {
      var (state, _) = state(after: connected)
      var address = try #require(
        NetlinkMessage.parse(RecordedNetlink.address).lazy
          .compactMap { if case .address(let address) = $0 { address } else { nil } }.first)
      let first = address
      address.bytes = [192, 0, 2, 77]
      #expect(state.received(.address(address)) == .report(true))
      #expect(state.received(.addressRemoved(first)) == .request(.links, sequence: 4))
    }

    /// As the kernel reports `ip -6 route add default via A`, `ip -6 route append default via B`, and their removal.
    @Test func routesThatAreRemovedOneByOneStartNewDump() {
      func route(_ gateway: [UInt8], _ indices: [Int32]) -> NetlinkMessage.Route {
        NetlinkMessage.Route(
          family: 10, table: 254, destination: [], destinationLength: 0, priority: 1024, gateway: gateway,
          indices: indices)
      }
      var (state, _) = state(after: [RecordedNetlink.up, RecordedNetlink.addr6])
      for (gateway, indices) in [([1], [3]), ([], [3, 3])] as [([UInt8], [Int32])] {
        #expect(state.received(.route(route(gateway, indices), replaces: false)) == .report(true))
      }
      #expect(state.received(.routeRemoved(route([2], [3]))) == .request(.links, sequence: 4))
    }

    /// A message about the address 2001:db8::1 of a link.
    private func address(_ type: UInt8, flags: UInt8, isDumped: Bool = false) -> [NetlinkMessage] {
      let header: [UInt8] = [44, 0, 0, 0, type, 0, isDumped ? 2 : 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
      let payload: [UInt8] = [10, 64, flags, 0, 3, 0, 0, 0, 20, 0, 1, 0]
      return NetlinkMessage.parse(header + payload + ipv6)
    }

    private let ipv6: [UInt8] = [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]

    /// An optimistic address is in use until another machine turns out to have it (RFC 4429 §3.3): one that is permanent
    /// is then announced as failed, and any other removed.
    @Test func optimisticAddressThatFailsIsRemoved() {
      let expected = NetlinkMessage.Address(family: 10, index: 3, prefixLength: 64, bytes: ipv6)
      #expect(address(20, flags: 0x44) == [.address(expected)])
      #expect(address(20, flags: 0x48) == [.addressRemoved(expected)])
      #expect(address(21, flags: 0x4C) == [.addressRemoved(expected)])
      #expect(address(20, flags: 0x40).isEmpty)
      #expect(address(20, flags: 0x48, isDumped: true).isEmpty)
    }

    /// An entry that the kernel has read before the change may arrive after its message.
    @Test func changeDuringDumpStartsNewDump() {
      let (start, _) = state(after: connected)
      let dumped = NetlinkMessage.Link(index: 4_711, isUp: true, isRunning: true, isLoopback: false, isDumped: true)
      var changed = dumped
      changed.isDumped = false
      let address = NetlinkMessage.Address(family: 10, index: 4_711, prefixLength: 64, bytes: [1])
      let route = NetlinkMessage.Route(
        family: 10, table: 254, destination: [], destinationLength: 0, priority: 0, gateway: [1], indices: [4_711])
      let changes: [NetlinkMessage] = [
        .link(changed), .linkRemoved(index: 4_711), .addressRemoved(address), .routeRemoved(route),
        .route(route, replaces: true),
      ]
      for change in changes {
        var state = start
        #expect(state.received(.overrun) == .request(.links, sequence: 4))
        #expect(state.received(change) == .none)
        #expect(state.received(.done(sequence: 4, wasInterrupted: false)) == .request(.links, sequence: 5))
        for entry in [.link(dumped), .address(address), .route(route, replaces: false)] as [NetlinkMessage] {
          #expect(state.received(entry) == .none)
        }
        #expect(state.received(.done(sequence: 5, wasInterrupted: false)) == .request(.addresses, sequence: 6))
      }
    }

    @Test func entriesOfDumpsAreNoChanges() {
      let dumped = NetlinkMessage.parse(RecordedNetlink.dumpLinks)
      #expect(dumped.count == 2 && dumped.allSatisfy { !$0.isChange })
      #expect(NetlinkMessage.parse(RecordedNetlink.up).contains { $0.isChange })
    }

    @Test func routesAreReplacedAndRemoved() {
      var (state, actions) = state(after: connected)
      feed(RecordedNetlink.replaced, to: &state, &actions)
      #expect(state.isConnected)
      feed(RecordedNetlink.routeRemoved, to: &state, &actions)
      #expect(!state.isConnected)
      #expect(actions.last == .report(false))
    }

    @Test func ipv6AddressAndRouteConnect() {
      var (state, actions) = state(after: [RecordedNetlink.up, RecordedNetlink.addr6])
      #expect(state.isConnected)
      feed(RecordedNetlink.addr6gone, to: &state, &actions)
      #expect(!state.isConnected)
    }

    @Test func removedLinkDisconnects() {
      var (state, actions) = state(after: connected)
      feed(RecordedNetlink.linkgone, to: &state, &actions)
      #expect(!state.isConnected)
    }

    @Test func addressOfOtherLinkSurvivesRemovedLink() {
      var (state, actions) = state(after: connected)
      let other = NetlinkMessage.Link(index: 4_711, isUp: true, isRunning: true, isLoopback: false)
      _ = state.received(.link(other))
      _ = state.received(.linkRemoved(index: other.index))
      #expect(state.isConnected)
      feed(RecordedNetlink.linkgone, to: &state, &actions)
      #expect(!state.isConnected)
    }

    @Test func overrunStartsNewDump() {
      var (state, _) = state(after: connected)
      #expect(state.received(.overrun) == .request(.links, sequence: 4))
      // One dump at a time: the current one completes first.
      #expect(state.received(.overrun) == .none)
      #expect(state.received(.done(sequence: 4, wasInterrupted: false)) == .request(.links, sequence: 5))
      #expect(state.received(.done(sequence: 4, wasInterrupted: false)) == .none)
      #expect(state.received(.done(sequence: 5, wasInterrupted: false)) == .request(.addresses, sequence: 6))
    }

    @Test func interruptedDumpsEndEventually() {
      var state = NetlinkState()
      var action = state.start()
      var count = 0
      while case .request(_, let sequence) = action, count < 1_000 {
        action = state.received(.done(sequence: sequence, wasInterrupted: true))
        count += 1
      }
      // The first 16 start over, the last three dump everything.
      #expect(count == 16 + 3)
      // The known state is reported for now, and everything dumped again after a pause, whatever changes until then.
      #expect(action == .reportAndPause(false))
      #expect(state.received(.overrun) == .report(false))
      let address = NetlinkMessage.Address(family: 2, index: 3, prefixLength: 24, bytes: [192, 0, 2, 1])
      #expect(state.received(.addressRemoved(address)) == .report(false))
      // There is a pause after each further one that is interrupted, until one is not.
      for wasInterrupted in [true, false] {
        action = state.endPause()
        for dump in NetlinkState.Dump.allCases {
          guard case .request(dump, let sequence) = action else {
            Issue.record("\(action)")
            return
          }
          action = state.received(.done(sequence: sequence, wasInterrupted: wasInterrupted))
        }
        #expect(action == (wasInterrupted ? .reportAndPause(false) : .report(false)))
      }
      #expect(!state.isDumping)
      #expect(state.received(.overrun) != .report(false))
    }

    @Test func refusedDumpIsSkipped() {
      var state = NetlinkState()
      _ = state.start()
      #expect(state.received(.done(sequence: 1, wasInterrupted: false)) == .request(.addresses, sequence: 2))
    }

    @Test func malformedMessagesDoNotCrash() {
      for recording in [RecordedNetlink.up, RecordedNetlink.address, RecordedNetlink.addr6, RecordedNetlink.down] {
        for length in 0..<recording.count { _ = NetlinkMessage.parse(Array(recording[..<length])) }
      }
      // Wrong lengths.
      for value in [0, 1, 15, 17, 0xFFFF, 0xFFFF_FFFF] as [UInt32] {
        var lying = RecordedNetlink.address
        withUnsafeBytes(of: value) { lying.replaceSubrange(0..<4, with: $0) }
        _ = NetlinkMessage.parse(lying)
        var attribute = RecordedNetlink.address
        withUnsafeBytes(of: UInt16(truncatingIfNeeded: value)) { attribute.replaceSubrange(24..<26, with: $0) }
        _ = NetlinkMessage.parse(attribute)
      }
    }
  }
#endif
