import LoopbackServer
import Testing

@testable import EKNetwork

/// The thread that has sent a request may wait for the response itself.
@Suite(.timeLimit(.minutes(10))) struct DirectWaitTests {
  @Test func waitsOnceAResponseCameSoon() {
    var wait = DirectWait(longest: 100, promising: 200)
    #expect(!wait.begins)
    wait.responded(after: 201)
    #expect(!wait.begins)
    wait.responded(after: 200)
    #expect(wait.begins)
    // It has been waited for.
    wait.responded(after: 500)
    wait.ended(inTime: true)
    #expect(wait.begins)
  }

  @Test func waitsLessAndLessOftenInVain() {
    var wait = DirectWait(longest: 100, promising: 200)
    func responsesBeforeTheNext() -> Int {
      var count = 0
      while !wait.begins {
        wait.responded(after: 1)
        count += 1
      }
      return count
    }
    #expect(responsesBeforeTheNext() == 1)
    var counts: [Int] = []
    for _ in 0..<9 {
      wait.ended(inTime: false)
      counts.append(responsesBeforeTheNext())
    }
    #expect(counts == [1, 2, 4, 8, 16, 32, 64, 64, 64])
    wait.ended(inTime: true)
    #expect(wait.begins)
    wait.ended(inTime: false)
    #expect(responsesBeforeTheNext() == 1)
  }

  @Test func neverWaitsWithoutAnotherThread() {
    var wait = DirectWait(longest: 0)
    wait.responded(after: 0)
    #expect(!wait.begins)
  }

  #if os(Linux)
    /// Loops of these tests alone, which wait longer than any response takes, or never long enough.
    private static let patient = EventLoops(
      count: 1, directWait: DirectWait(longest: 900_000_000, promising: .max))
    private static let impatient = EventLoops(count: 1, directWait: DirectWait(longest: 1, promising: .max))

    private let server: LoopbackServer

    init() throws {
      server = try LoopbackServer()
      server.fallback = { .text($0.path) }
    }

    private func transport(_ loops: EventLoops) throws -> HTTPTransport {
      try #require(HTTPTransport(configuration: .ephemeral, eventLoops: loops))
    }

    private func text(_ transport: HTTPTransport, _ path: String, body: Data? = nil) async throws -> String {
      var request = URLRequest(url: server.url(path), timeoutInterval: 600)
      if body != nil { request.httpMethod = "PUT" }
      request.httpBody = body
      return String(decoding: try await transport.fetch(TransportRequest(request)).data, as: UTF8.self)
    }

    /// One after the other: what is counted belongs to all of them.
    @Test func responsesThatAreWaitedFor() async throws {
      let transport = try transport(Self.patient)
      // The best of several rounds counts: on a busy machine more requests find the loop's thread at work.
      var best = 0
      for round in 0..<10 where best < 15 {
        let before = Self.patient.directResponseCount
        for number in 0..<30 {
          let body = number % 2 == 0 ? nil : Data(count: 100)
          #expect(try await text(transport, "/\(number)", body: body) == "/\(number)")
        }
        best = Self.patient.directResponseCount - before
        // The first one of all opens a connection.
        #expect(best <= (round == 0 ? 29 : 30))
      }
      #expect(best >= 15)
      #expect(server.acceptedConnections == 1)

      // Only the beginning is waited for.
      let gate = Gate()
      server.route("/parts") { _ in .streaming(contentLength: 2, [.sendString("o"), .wait(gate), .sendString("k")]) }
      let parts = try await transport.start(TransportRequest(URLRequest(url: server.url("/parts"))))
      #expect(try await parts.body.next() == Data("o".utf8))
      gate.open()
      #expect(try await parts.body.next() == Data("k".utf8))
      #expect(try await parts.body.next() == nil)

      // Meanwhile other requests are sent, by the loop's thread.
      let (held, sent) = (Gate(), server.requestCount)
      server.route("/held") { _ in .streaming(contentLength: 1, [.wait(held), .sendString("h")]) }
      async let last = text(transport, "/held")
      _ = await server.waitForRequests(count: sent + 1)
      #expect(try await text(transport, "/other") == "/other")
      held.open()
      #expect(try await last == "h")
      #expect(try await text(transport, "/after") == "/after")
    }

    /// RFC 9110 §9.2.2.
    @Test func connectionThatEndsInstead() async throws {
      let loops = EventLoops(count: 1, directWait: DirectWait(longest: 900_000_000, promising: .max))
      let transport = try transport(loops)
      server.route("/last") { _ in
        var response = LoopbackServer.Response.text("last")
        response.ending = .closeOnNextRequest
        return response
      }
      for _ in 0..<3 {
        #expect(try await text(transport, "/last") == "last")
        #expect(try await text(transport, "/next") == "/next")
      }
      #expect(loops.directResponseCount > 0)
      server.stop()
      await #expect(throws: URLError.self) { try await text(transport, "/gone") }
    }

    @Test func waitsInVainAreContinuedByTheLoop() async throws {
      let transport = try transport(Self.impatient)
      for number in 0..<300 { #expect(try await text(transport, "/\(number)") == "/\(number)") }
      #expect(server.acceptedConnections == 1)
    }

    /// Whatever happens first: the response, the end of the wait, the cancellation, or the time limit.
    @Test(arguments: [1, 20_000, 200_000] as [UInt64]) func cancellationAndTimeouts(_ longest: UInt64) async throws {
      let loops = EventLoops(count: 1, directWait: DirectWait(longest: longest, promising: .max))
      let transport = try transport(loops)
      let gate = Gate()
      server.route("/never") { _ in .streaming(contentLength: 1, [.wait(gate), .sendString("x")]) }
      for number in 0..<200 {
        let path = number % 5 == 4 ? "/never" : "/\(number)"
        let task = Task { try await text(transport, path) }
        if number % 5 >= 3 { Task.detached { task.cancel() } }
        switch await task.result {
        case .success(let text): #expect(text == path)
        case .failure(let error): #expect(error is CancellationError && number % 5 >= 3)
        }
        guard number % 20 == 0 else { continue }
        let request = TransportRequest(URLRequest(url: server.url("/never"), timeoutInterval: 0.01))
        let error = await #expect(throws: URLError.self) { try await transport.fetch(request) }
        #expect(error?.code == .timedOut)
      }
      gate.open()
      #expect(try await text(transport, "/after") == "/after")
    }

    // MARK: - Bodies

    /// Bytes of which no piece looks like another.
    private static let large = Data((0..<(1 << 20)).flatMap { number in [UInt8(number >> 12), UInt8(number % 251)] })

    private func body(_ transport: HTTPTransport, _ path: String) async throws -> Data {
      let request = URLRequest(url: server.url(path), timeoutInterval: 600)
      let response = try await transport.start(TransportRequest(request))
      var data = Data()
      while let chunk = try await response.body.next() { data += chunk }
      return data
    }

    /// Whatever way the pieces take: the consumer reads them soon, never soon enough, or by chance.
    @Test(arguments: [(900_000_000, .max), (1, 0), (20_000, 50_000)] as [(UInt64, UInt64)])
    func bodiesThatTheirConsumersRead(longest: UInt64, promising: UInt64) async throws {
      let loops = EventLoops(count: 1, directWait: DirectWait(longest: longest, promising: promising))
      let transport = try transport(loops)
      let large = Self.large
      let parts = stride(from: 0, to: large.count, by: 50_000).map { large[$0..<min($0 + 50_000, large.count)] }
      server.route("/length") { _ in .data(large) }
      server.route("/chunked") { _ in .chunked(parts) }
      for _ in 0..<10 {
        #expect(try await body(transport, "/length") == large)
        #expect(try await body(transport, "/chunked") == large)
        #expect(try await text(transport, "/after") == "/after")
      }
      #expect(promising < .max || loops.directReadCount > 0)
      // The loop's thread reads for several at once.
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<8 {
          group.addTask { try await body(transport, number % 2 == 0 ? "/length" : "/chunked") == large }
        }
        for try await isWhole in group { #expect(isWhole) }
      }
    }

    /// A task that reads a body itself does not keep its thread from others until the end.
    @Test func readersLetOtherTasksRun() async throws {
      let loops = EventLoops(count: 1, directWait: DirectWait(longest: 900_000_000, promising: .max))
      let (transport, large, executor) = (try transport(loops), Self.large, QueueExecutor(label: "EKNetwork.Test"))
      let parts = Array(repeating: LoopbackServer.Response.Step.send(large), count: 32)
      server.route("/parts") { _ in .streaming(contentLength: parts.count * large.count, parts) }
      let request = URLRequest(url: server.url("/parts"), timeoutInterval: 600)
      let (hasRun, count) = try await withTaskExecutorPreference(executor) {
        let body = try await transport.start(TransportRequest(request)).body
        let hasRun = Locked(false)
        var count = 0
        var other: Task<Void, Never>?
        while let chunk = try await body.next() {
          count += chunk.count
          if other == nil, count >= large.count {
            other = Task(executorPreference: executor) { hasRun.withLock { $0 = true } }
          }
        }
        return (hasRun.withLock { $0 }, count)
      }
      #expect(hasRun && count == parts.count * large.count)
    }

    /// There is one connection, which the response has until its end.
    @Test func anotherRequestDoesNotWaitForAConsumer() async throws {
      let loops = EventLoops(count: 1, directWait: DirectWait(longest: 900_000_000, promising: .max))
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 1
      let transport = try #require(HTTPTransport(configuration: configuration, eventLoops: loops))
      let (piece, gates) = (Data(count: 50_000), (0..<4).map { _ in Gate() })
      server.route("/pieces") { _ in
        .streaming(contentLength: 5 * piece.count, [.send(piece)] + gates.flatMap { [.wait($0), .send(piece)] })
      }
      let body = try await transport.start(TransportRequest(URLRequest(url: server.url("/pieces")))).body
      var count = 0
      for (number, gate) in gates.enumerated() {
        while count < (number + 1) * piece.count { count += try #require(try await body.next()).count }
        gate.open()
      }
      #expect(try await text(transport, "/other") == "/other")
      while let chunk = try await body.next() { count += chunk.count }
      #expect(count == 5 * piece.count)
      #expect(server.acceptedConnections == 1)
    }

    /// Returns the number of bytes of a body before its error.
    private func end(of request: URLRequest, _ transport: HTTPTransport) async throws -> (count: Int, error: URLError?)
    {
      var count = 0
      do {
        let body = try await transport.start(TransportRequest(request)).body
        while let chunk = try await body.next() { count += chunk.count }
        return (count, nil)
      } catch let error as URLError {
        return (count, error)
      }
    }

    @Test(arguments: [1, 20_000, 200_000] as [UInt64]) func bodiesThatEndEarly(_ longest: UInt64) async throws {
      let loops = EventLoops(count: 1, directWait: DirectWait(longest: longest, promising: .max))
      let transport = try transport(loops)
      let (large, gate) = (Self.large, Gate())
      server.route("/stalled") { _ in .streaming(contentLength: large.count + 1, [.send(large), .wait(gate)]) }
      server.route("/short") { _ in
        .streaming(contentLength: large.count + 1, [.send(large)]).then(.closeSilently)
      }
      for number in 0..<40 {
        // Its server sends no more.
        var request = URLRequest(url: server.url("/stalled"), timeoutInterval: 0.05)
        let (stalled, error) = try await end(of: request, transport)
        // On a busy machine it may have been silent for as long before.
        #expect(error?.code == .timedOut && stalled <= large.count)

        // It is cancelled, at any time.
        request.timeoutInterval = 600
        let (cancelled, most) = (request, number * 60_000)
        let task = Task {
          let response = try await transport.start(TransportRequest(cancelled))
          var count = 0
          while let chunk = try await response.body.next() {
            count += chunk.count
            if count >= most { withUnsafeCurrentTask { $0?.cancel() } }
          }
        }
        if most > large.count { task.cancel() }
        await #expect(throws: CancellationError.self) { try await task.value }

        // The connection is lost.
        request.url = server.url("/short")
        let (short, loss) = try await end(of: request, transport)
        #expect(loss?.code == .networkConnectionLost && short == large.count)

        // Nobody reads it to its end.
        let response = try await transport.start(TransportRequest(URLRequest(url: server.url("/stalled"))))
        _ = try await response.body.next()
        _ = try await response.body.next()
      }
      gate.open()
      #expect(try await text(transport, "/after") == "/after")
    }
  #endif
}
