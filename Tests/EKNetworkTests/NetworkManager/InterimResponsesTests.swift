#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  @Suite("Interim responses", .timeLimit(.minutes(10))) struct InterimResponsesTests {
    private let server: LoopbackServer
    private let manager: NetworkManager

    init() throws {
      server = try LoopbackServer()
      manager = Wire.automatic.manager(server)
    }

    private static let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nX-Other: 1\r\nLink: </b>\r\n\r\n"
    private static let end = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    /// The final response waits for it.
    @Test("One is reported as soon as it arrives, with its fields in order")
    func early() async throws {
      let gate = Gate()
      server.route("/item", .raw([.sendString(Self.hints), .wait(gate), .sendString(Self.hints + Self.end)]))
      let (responses, input) = AsyncStream<InterimResponse>.makeStream()
      var probe = Probe<EmptyResponse>()
      probe.onInterimResponse = {
        input.yield($0)
        gate.open()
      }
      _ = try await manager.send(probe)
      for await response in responses.prefix(2) {
        #expect(response.statusCode == 103)
        #expect(response.headerFields.map(\.name) == ["Link", "X-Other", "Link"])
        #expect(response.values(for: "link") == ["</a>; rel=preload", "</b>"])
      }
    }

    @Test("They can be awaited while the request runs")
    func awaited() async throws {
      let gate = Gate()
      server.route("/item", .raw([.sendString(Self.hints), .wait(gate), .sendString(Self.end)]))
      let (responses, input) = AsyncStream<InterimResponse>.makeStream()
      var probe = Probe<EmptyResponse>()
      probe.onInterimResponse = { input.yield($0) }
      async let response = manager.stream(probe)
      for await hint in responses {
        #expect(hint.statusCode == 103)
        break
      }
      gate.open()
      #expect(try await response.statusCode == 200)
    }

    @Test("A closure that does not return keeps neither the response nor other requests")
    func blocking() async throws {
      server.route("/item") { _ in .raw([.sendString(Self.hints + Self.end)]) }
      let end = DispatchSemaphore(value: 0)
      defer { end.signal() }
      var probe = Probe<EmptyResponse>()
      probe.onInterimResponse = { _ in end.wait() }
      _ = try await manager.send(probe)
      for _ in 0..<20 { _ = try await manager.send(Probe<EmptyResponse>()) }
    }

    @Test("Redirects and repeated attempts report their own")
    func hops() async throws {
      let hint = "HTTP/1.1 102 Processing\r\nX-Hop: "
      server.route(
        "GET", "/item",
        .raw([.sendString("\(hint)1\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")]),
        .raw([.sendString("\(hint)2\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n")]))
      server.route("/next", .raw([.sendString("\(hint)3\r\n\r\n" + Self.end)]))
      let (responses, input) = AsyncStream<InterimResponse>.makeStream()
      var probe = Probe<EmptyResponse>(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
      probe.onInterimResponse = { input.yield($0) }
      _ = try await manager.send(probe)
      var hops: [String] = []
      for await response in responses.prefix(3) { hops += response.values(for: "X-Hop") }
      #expect(hops == ["1", "2", "3"])
    }

    @Test("A request that observes them is not combined with an identical one", arguments: [true, false])
    func identical(hasCache: Bool) async throws {
      let gate = Gate()
      let end = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\n{}"
      server.route("/item") { _ in .raw([.sendString(Self.hints), .wait(gate), .sendString(end)]) }
      if hasCache { manager.httpCache = HTTPCache() } else { manager.sharesIdenticalRequests = true }
      let (observers, input) = AsyncStream<Int>.makeStream()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<2 {
          group.addTask { [manager] in
            var probe = Probe<EmptyResponse>()
            probe.onInterimResponse = { _ in input.yield(number) }
            _ = try await manager.send(probe)
          }
        }
        await server.expectRequests(2)
        gate.open()
        try await group.waitForAll()
      }
      try #require(server.requestCount == 2)
      var reached: Set<Int> = []
      for await observer in observers.prefix(2) { reached.insert(observer) }
      #expect(reached == [0, 1])
    }

    @Test("The permission to send a body is one")
    func permission() async throws {
      server.route("POST", "/item", .text("{}"))
      let (responses, input) = AsyncStream<InterimResponse>.makeStream()
      var probe = Probe<EmptyResponse>(method: .post)
      probe.body = RequestBody(data: Data(count: 10), contentType: "a/b")
      probe.expectsContinue = true
      probe.onInterimResponse = { input.yield($0) }
      _ = try await manager.send(probe)
      for await response in responses.prefix(1) { #expect(response == InterimResponse(statusCode: 100)) }
    }
  }
#endif
