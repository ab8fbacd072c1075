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

  @Test func aStreamThatBeginsDuringAChangeEndsUpWithTheNewState() async {
    for _ in 0..<2_000 {
      let broadcast = ConnectivityBroadcast(isConnected: true)
      let streams = Locked<[AsyncStream<Bool>]>([])
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        for round in 0..<10 {
          if index == 0 {
            if round == 5 { broadcast.report(false) }
          } else {
            let stream = broadcast.stream()
            streams.withLock { $0.append(stream) }
          }
        }
      }
      // Each has the newest state alone.
      for stream in streams.withLock({ $0 }) {
        var states = stream.makeAsyncIterator()
        #expect(await states.next() == false)
      }
    }
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
