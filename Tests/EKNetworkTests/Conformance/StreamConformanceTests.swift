#if os(Linux)
  import EKNetwork
  import LoopbackServer
  import Testing

  /// How every HTTP client reads a body in pieces, stops, and reads while it sends.
  @Suite("HTTP client: streams", .timeLimit(.minutes(5))) struct StreamConformanceTests {
    private let setup: ConformanceSetup
    private var server: LoopbackServer { setup.server }
    private var manager: NetworkManager { setup.manager }

    init() throws { setup = try ConformanceSetup() }

    // MARK: Cancellation

    @Test func cancellationBeforeTheHead() async throws {
      server.route("/request", .raw([.stall]))
      let manager = manager
      let task = Task { _ = try await manager.response(to: ConformanceRequest()) }
      await server.expectRequests(1)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await server.waitForOpenConnections(0))
    }

    @Test func cancellationBeforeTheEndOfTheBody() async throws {
      server.route("/request", .streaming([.chunk(Data(count: 1_000)), .stall]))
      let manager = manager
      let (starts, start) = AsyncStream<Void>.makeStream()
      let task = Task {
        let response = try await manager.stream(ConformanceRequest())
        #expect(response.statusCode == 200)
        for try await piece in response.body {
          #expect(!piece.isEmpty)
          start.yield()
        }
      }
      _ = await starts.first { true }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await server.waitForOpenConnections(0))
    }

    // MARK: Reading

    @Test func restOfABodyMayStayUnread() async throws {
      server.route("/request", .data(Data(repeating: 0x61, count: 1_000_000)))
      let manager = manager
      let first = try await Task {
        try await manager.stream(ConformanceRequest()).body.bytes.first { _ in true }
      }.value
      #expect(first == 0x61)
      server.route("/request") { .json(ReceivedRequest($0)) }
      #expect(try await manager.send(ConformanceRequest()).method == "GET")
    }

    @Test func bodyIsReadByteByByte() async throws {
      server.route("/request", .data(Data(repeating: 0x61, count: 1_000_000)))
      let response = try await manager.stream(ConformanceRequest())
      var count = 0
      for try await byte in response.body.bytes where byte == 0x61 { count += 1 }
      #expect(response.statusCode == 200 && count == 1_000_000)
    }

    // MARK: Both directions at once

    private static let turns = 1_000

    /// Each piece is sent when the one before it has come back.
    @Test func clientSpeaksFirst() async throws {
      takeOver { stream in
        var open = true
        while open, let data = stream.read() {
          for byte in data where byte == Self.letter { stream.write(Self.chunk) }
          open = !data.contains(Self.zero)
        }
      }
      let (pieces, input) = AsyncStream<Data>.makeStream()
      input.yield(Data([Self.letter]))
      var turn = 0
      let response = try await manager.stream(talk(pieces))
      #expect(response.statusCode == 200)
      for try await piece in response.body {
        #expect(piece == Data([Self.letter]))
        turn += 1
        if turn == Self.turns { input.finish() } else { input.yield(piece) }
      }
      #expect(turn == Self.turns)
    }

    /// The server waits for each of its pieces to come back, and the end of its response is the end of both.
    @Test func serverSpeaksFirst() async throws {
      takeOver { stream in
        for _ in 0..<Self.turns {
          stream.write(Self.chunk)
          while let data = stream.read(), !data.contains(Self.letter) {}
        }
      }
      let (pieces, input) = AsyncStream<Data>.makeStream()
      var turn = 0
      let response = try await manager.stream(talk(pieces))
      #expect(response.statusCode == 200)
      for try await piece in response.body {
        #expect(piece == Data([Self.letter]))
        turn += 1
        input.yield(piece)
      }
      input.finish()
      #expect(turn == Self.turns)
    }

    private static let letter = UInt8(ascii: "A")
    /// Only in the last chunk: the others have the length 1.
    private static let zero = UInt8(ascii: "0")
    private static let chunk = Data("1\r\nA\r\n".utf8)

    /// Responds at the head of the request; the closure reads and writes chunks.
    private func takeOver(_ speak: @escaping @Sendable (LoopbackServer.ByteStream) -> Void) {
      server.route(
        "/talk",
        onHead: { _ in
          .respond(
            .upgrade(status: 200, headers: ["Transfer-Encoding": "chunked"]) { stream in
              speak(stream)
              stream.write(Data("0\r\n\r\n".utf8))
            })
        }
      ) { _ in .status(500) }
    }

    private func talk(_ pieces: AsyncStream<Data>) -> ConformanceRequest {
      ConformanceRequest(
        path: "/talk", method: .post, body: RequestBody(sequence: pieces, contentType: "application/octet-stream"))
    }
  }
#endif
