#if _endian(little)
  import Testing

  @testable import EKNetwork

  @Suite struct NetlinkStateTests {
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

    /// The kernel removes the routes of a link with its last IPv4 address, and sends no message about them.
    @Test func lastAddressOfLinkStartsNewDump() throws {
      var (state, _) = state(after: connected)
      var address = try #require(
        NetlinkMessage.parse(RecordedNetlink.address).lazy
          .compactMap { if case .address(let address) = $0 { address } else { nil } }.first)
      let first = address
      address.bytes = [192, 0, 2, 77]
      #expect(state.received(.address(address)) == .report(true))
      #expect(state.received(.addressRemoved(first)) == .report(true))
      #expect(state.received(.addressRemoved(address)) == .request(.links, sequence: 4))
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
      // The known state is reported for now, and everything dumped again.
      guard case .reportAndRequest(false, .links, let sequence) = action else {
        Issue.record("\(action)")
        return
      }
      #expect(
        state.received(.done(sequence: sequence, wasInterrupted: false)) == .request(.addresses, sequence: sequence + 1)
      )
      #expect(
        state.received(.done(sequence: sequence + 1, wasInterrupted: false))
          == .request(.routes, sequence: sequence + 2))
      #expect(state.received(.done(sequence: sequence + 2, wasInterrupted: false)) == .report(false))
      #expect(!state.isDumping)
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
