import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct PrismConnectivityMonitorTests {
  @Test func streamYieldsStateThenChanges() async {
    let state = ObservedValue(true)
    let monitor = PrismConnectivityMonitor(state)
    var states = monitor.connectionStream().makeAsyncIterator()
    #expect(await states.next() == true)
    state.update { $0 = false }
    #expect(!monitor.isConnected)
    #expect(await states.next() == false)
    // An unchanged state is not reported.
    state.update { $0 = false }
    state.update { $0 = true }
    #expect(await states.next() == true)
  }

  @Test func slowReaderGetsLatestState() async {
    let state = ObservedValue(true)
    let monitor = PrismConnectivityMonitor(state)
    var states = monitor.connectionStream().makeAsyncIterator()
    for isConnected in [false, true, false] { state.update { $0 = isConnected } }
    #expect(await states.next() == false)
    withExtendedLifetime(monitor) {}
  }

  @Test func streamOpenedDuringChangeGetsNewState() async {
    for _ in 0..<2_000 {
      let state = ObservedValue(true)
      let monitor = PrismConnectivityMonitor(state)
      let streams = Locked<[AsyncStream<Bool>]>([])
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        for round in 0..<10 {
          if index == 0 {
            if round == 5 { state.update { $0 = false } }
          } else {
            let stream = monitor.connectionStream()
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

  @Test func streamEndsWithMonitor() async {
    var monitor: PrismConnectivityMonitor? = PrismConnectivityMonitor(ObservedValue(false))
    let stream = monitor?.connectionStream()
    monitor = nil
    var states: [Bool] = []
    if let stream {
      for await isConnected in stream { states.append(isConnected) }
    }
    #expect(states == [false])
  }

  @Test func cancelledReaderDoesNotWait() async {
    let state = ObservedValue(true)
    let monitor = PrismConnectivityMonitor(state)
    let reader = Task { for await isConnected in monitor.connectionStream() { #expect(isConnected) } }
    while state.waiterCount == 0 { await Task.yield() }
    reader.cancel()
    await reader.value
    #expect(state.waiterCount == 0)
  }

  @Test func monitorReadsKernelState() async {
    // The state depends on the machine, but it is known at once.
    let monitor = PrismConnectivityMonitor()
    var states = monitor.connectionStream().makeAsyncIterator()
    #expect(await states.next() == monitor.isConnected)
    for _ in 0..<50 { _ = PrismConnectivityMonitor().isConnected }
  }
}
