import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct PrismConnectivityMonitorTests {
  @Test func streamYieldsStateThenChanges() async {
    let broadcast = ConnectivityBroadcast(isConnected: true)
    let monitor = PrismConnectivityMonitor(broadcast)
    var states = monitor.connectionStream().makeAsyncIterator()
    #expect(await states.next() == true)
    broadcast.report(false)
    #expect(!monitor.isConnected)
    #expect(await states.next() == false)
    // An unchanged state is not reported.
    broadcast.report(false)
    broadcast.report(true)
    #expect(await states.next() == true)
  }

  @Test func slowReaderGetsLatestState() async {
    let broadcast = ConnectivityBroadcast(isConnected: true)
    let monitor = PrismConnectivityMonitor(broadcast)
    var states = monitor.connectionStream().makeAsyncIterator()
    for isConnected in [false, true, false] { broadcast.report(isConnected) }
    #expect(await states.next() == false)
    withExtendedLifetime(monitor) {}
  }

  @Test func streamOpenedDuringChangeGetsNewState() async {
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
      // Each stream holds the newest state only.
      for stream in streams.withLock({ $0 }) {
        var states = stream.makeAsyncIterator()
        #expect(await states.next() == false)
      }
    }
  }

  @Test func streamEndsWithMonitorAndListenerWithStream() async {
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

  @Test func monitorReadsKernelState() async {
    // The state depends on the machine, but it is known at once.
    let monitor = PrismConnectivityMonitor()
    var states = monitor.connectionStream().makeAsyncIterator()
    #expect(await states.next() == monitor.isConnected)
    for _ in 0..<50 { _ = PrismConnectivityMonitor().isConnected }
  }
}
