import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct PrismConnectivityMonitorTests {
  @Test func theStateAndThenEachChange() async {
    let broadcast = ConnectivityBroadcast(isConnected: true)
    let monitor = PrismConnectivityMonitor(broadcast)
    var states = monitor.connectionStream().makeAsyncIterator()
    #expect(await states.next() == true)
    broadcast.report(false)
    #expect(!monitor.isConnected)
    #expect(await states.next() == false)
    // What is no news is not told.
    broadcast.report(false)
    broadcast.report(true)
    #expect(await states.next() == true)
  }

  @Test func whoIsSlowIsToldTheLastState() async {
    let broadcast = ConnectivityBroadcast(isConnected: true)
    let monitor = PrismConnectivityMonitor(broadcast)
    var states = monitor.connectionStream().makeAsyncIterator()
    for isConnected in [false, true, false] { broadcast.report(isConnected) }
    #expect(await states.next() == false)
    withExtendedLifetime(monitor) {}
  }

  @Test func streamsEndWithTheMonitorAndListenersWithTheirStreams() async {
    let broadcast = ConnectivityBroadcast(isConnected: false)
    var monitor: PrismConnectivityMonitor? = PrismConnectivityMonitor(broadcast)
    var stream = monitor?.connectionStream()
    #expect(broadcast.listenerCount == 1)
    monitor = nil
    var states: [Bool] = []
    if let stream {
      for await isConnected in stream { states.append(isConnected) }
    }
    #expect(states == [false])
    stream = nil
    #expect(broadcast.listenerCount == 0)
  }

  @Test func theKernelIsAsked() async {
    // What it says depends on the machine; that it says something at once does not.
    let monitor = PrismConnectivityMonitor()
    var states = monitor.connectionStream().makeAsyncIterator()
    #expect(await states.next() == monitor.isConnected)
    for _ in 0..<50 { _ = PrismConnectivityMonitor().isConnected }
  }
}
