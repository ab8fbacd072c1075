import EKNetwork
import LoopbackServer

extension Step {
  /// Returns the step of a network that goes away and comes back.
  ///
  /// - Parameter makeNetwork: Creates the network; called when the step runs.
  static func offline(_ makeNetwork: @escaping @Sendable () throws -> any DemoNetwork) -> Step {
    Step(
      title: "The network goes away, and comes back",
      code: """
        var options = PrismOfflineQueueOptions()
        options.connectivity = PrismConnectivityMonitor()
        let queue = try PrismOfflineQueue(directory: folder, delivery: .manager(manager), options: options)
        try await queue.enqueue(request)      // returns when it is on disk, network or not
        """
    ) { stage in
      var network = try makeNetwork()
      defer { network.server.stop() }
      stage.note(network.description)
      network.server.fallback = { _ in .status(204) }

      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 1
      let manager = NetworkManager(baseURL: network.server.baseURL, session: URLSession(configuration: configuration))
      let (failures, failed) = AsyncStream<String>.makeStream()
      manager.eventHandler = { event in
        guard case .failed(let error) = event.kind else { return }
        failed.yield((error as? URLError).map { "URLError \($0.code.rawValue)" } ?? "\(error)")
      }
      var options = PrismOfflineQueueOptions()
      options.connectivity = PrismConnectivityMonitor()
      options.backoff = PrismLinearRetry(fixedDelay: .seconds(1), maxAttempts: .max)
      let queue = try PrismOfflineQueue(
        directory: stage.folder.appendingPathComponent("queue"), delivery: .manager(manager), options: options)

      func keep(_ text: String) async throws {
        var request = URLRequest(url: network.server.url("/orders"))
        request.httpMethod = "POST"
        request.httpBody = Data(text.utf8)
        try await queue.enqueue(request)
      }

      try await keep("first")
      try expect(await network.server.waitForRequests(count: 1).count == 1, "the first one did not arrive")
      try await queue.flush()
      stage.note("with a network: \"first\" was delivered at once, \(await queue.count) wait")

      try network.goAway()
      for text in ["second", "third", "fourth"] { try await keep(text) }
      var attempts = failures.makeAsyncIterator()
      let failure = await attempts.next() ?? ""
      stage.note("without one: \(await queue.count) wait, after \(failure)")
      try expect(await queue.count == 3, "\(await queue.count) wait without a network")

      let before = network.server.requestCount
      try network.comeBack()
      network.server.fallback = { _ in .status(204) }
      let start = ContinuousClock.now
      while await queue.count > 0 {
        // If a flush fails, waits for the next failed attempt before the next flush.
        do { try await queue.flush() } catch { _ = await attempts.next() }
      }
      let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
      let arrived = network.server.requests(path: "/orders").suffix(3)
      stage.showWire(Array(arrived.suffix(1)))
      let texts = arrived.map { String(decoding: $0.body, as: UTF8.self) }
      try expect(texts == ["second", "third", "fourth"], "what arrived was \(texts), after \(before)")
      try expect(Set(arrived.map { $0.headers["Idempotency-Key"] }).count == 3, "their keys are not their own")
      return "3 delivered in their order, \(milliseconds) ms after the network was back"
    }
  }
}
