import LoopbackServer
import Testing

@testable import EKNetwork

@Suite("ReconnectingWebSocket on the wire", .timeLimit(.minutes(10)))
struct ReconnectingWebSocketTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  private func socket(
    to other: URL? = nil, clock: any Clock<Duration> = PatientClock(),
    _ change: (inout WebSocketReconnectPolicy) -> Void = { _ in },
    options changeOptions: (inout WebSocketOptions) -> Void = { _ in }
  ) throws -> ReconnectingWebSocket {
    var options = WebSocketOptions()
    options.clock = clock
    options.connectTimeout = .seconds(1_000_000)
    options.closeTimeout = .seconds(1_000_000)
    changeOptions(&options)
    var policy = WebSocketReconnectPolicy()
    policy.random = { 0 }
    change(&policy)
    return ReconnectingWebSocket(to: try other ?? url, options: options, reconnect: policy)
  }

  private var url: URL { get throws { try #require(URL(string: "ws://127.0.0.1:\(server.port)/")) } }

  /// Serves connections; the closure receives their number, from 1.
  private func serve(_ body: @escaping @Sendable (Int, LoopbackServer.WebSocketPeer) -> Void) {
    let count = Locked(0)
    server.route("/") {
      .webSocket($0) { peer in
        let number = count.withLock { count in
          count += 1
          return count
        }
        body(number, peer)
      }
    }
  }

  private func name(_ event: WebSocketEvent) -> String {
    switch event {
    case .connected: "connected"
    case .lost(let error): "lost: \((error as? WebSocketError)?.localizedDescription ?? "\(type(of: error))")"
    case .retrying(let delay): "retrying after \(delay)"
    case .ended(let error): "ended\(error == nil ? "" : " with an error")"
    }
  }

  private func events(of socket: ReconnectingWebSocket) async -> [String] {
    var events: [String] = []
    for await event in socket.events { events.append(name(event)) }
    return events
  }

  @Test("Connection resets are survived and reported, and close code 1000 ends the messages")
  func kills() async throws {
    serve { number, peer in
      peer.send("hello \(number)")
      guard number == 4 else { return peer.bytes.reset() }
      peer.close(1000)
      _ = peer.readMessage()
    }
    let socket = try socket()
    var messages: [WebSocketMessage] = []
    for try await message in socket { messages.append(message) }
    #expect(messages.last == .text("hello 4"))
    let events = await events(of: socket)
    #expect(events.count { $0 == "connected" } == 4)
    #expect(events.count { $0.hasPrefix("lost: The WebSocket connection was lost") } == 3)
    #expect(events.count { $0.hasPrefix("retrying after") } == 3)
    #expect(events.suffix(2) == ["lost: The WebSocket was closed (1000)", "ended"])
    await #expect(throws: WebSocketError.self) { try await socket.send("late") }
    #expect(try await socket.receive() == nil)
  }

  @Test("Messages received before a connection loss precede those of the next connection")
  func order() async throws {
    serve { number, peer in
      for index in 0..<40 { peer.send("\(number) \(index)") }
      peer.close(number < 3 ? 1012 : 1000)
      _ = peer.readMessage()
    }
    var messages: [WebSocketMessage] = []
    for try await message in try socket() { messages.append(message) }
    #expect(messages == (1...3).flatMap { number in (0..<40).map { .text("\(number) \($0)") } })
  }

  /// The reader is what sends, so nothing reads the second message meanwhile.
  @Test("A reader that replies on a lost connection does so on the next one, and misses no message")
  func replyingReader() async throws {
    let isLost = Gate()
    let received = Locked<[Data]>([])
    serve { number, peer in
      guard number == 1 else {
        if let message = peer.readMessage() { received.withLock { $0.append(message) } }
        peer.send("d")
        while peer.readMessage() != nil {}
        return
      }
      for text in ["a", "b", "c"] { peer.send(text) }
      peer.close(1012)
      // The response to the close frame: the client sends nothing more on this connection.
      _ = peer.readMessage()
      isLost.open()
    }
    let socket = try socket()
    #expect(try await socket.receive() == .text("a"))
    #expect(await isLost.wait())
    try await socket.send("reply to a")
    for text in ["b", "c", "d"] { #expect(try await socket.receive() == .text(text)) }
    #expect(received.withLock { $0 } == [Data("reply to a".utf8)])
    try await socket.close()
  }

  @Test("A reader that replies after a final close code gets its error, and then the messages before it")
  func replyAfterTheEnd() async throws {
    let isOver = Gate()
    serve { _, peer in
      for text in ["a", "b", "c"] { peer.send(text) }
      peer.close(1008)
      _ = peer.readMessage()
      isOver.open()
    }
    let socket = try socket()
    let error = WebSocketError.closed(code: .policyViolation, reason: "")
    #expect(try await socket.receive() == .text("a"))
    #expect(await isOver.wait())
    await #expect(throws: error) { try await socket.send("reply to a") }
    for text in ["b", "c"] { #expect(try await socket.receive() == .text(text)) }
    await #expect(throws: error) { try await socket.receive() }
    #expect(server.requestCount == 1)
  }

  @Test("Messages sent while disconnected go out on the next connection")
  func waitingMessages() async throws {
    let connected = Gate()
    let received = Locked<[String]>([])
    server.route("/") { request in
      guard connected.isOpen else { return .status(503) }
      return .webSocket(request) { peer in
        while let message = peer.readMessage() {
          let count = received.withLock { received in
            received.append(String(decoding: message, as: UTF8.self))
            return received.count
          }
          if count == 10 { peer.send("all") }
        }
      }
    }
    let clock = ManualClock()
    let socket = try socket(clock: clock)
    // From here on only the delay before the next attempt sleeps.
    await server.expectRequests(1)
    async let sending: Void = withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<10 { group.addTask { try await socket.send("\(index)") } }
      try await group.waitForAll()
    }
    connected.open()
    let advancing = Task {
      while !Task.isCancelled {
        await clock.waitForSleepers()
        clock.advance(by: .seconds(2))
        await Task.yield()
      }
    }
    try await sending
    advancing.cancel()
    #expect(try await socket.receive() == .text("all"))
    #expect(received.withLock { $0.sorted() } == (0..<10).map(String.init))
    try await socket.close()
    clock.advance(by: .seconds(2_000_000))
  }

  @Test("A message taken by the system is not resent; one cut short by a reset is resent whole")
  func atMostOnce() async throws {
    let large = Data(repeating: 0x2A, count: 16 << 20)
    // The header of a client's large frame has 14 bytes.
    let size = large.count + 14 * (large.count / OutgoingMessage.frameSize)
    let received = Locked<[Int]>([])
    serve { number, peer in
      if number == 1 {
        _ = peer.readFrame()
        // The first byte of many: the rest is not read.
        _ = peer.bytes.read(upTo: 1)
        return peer.bytes.reset()
      }
      // Counted, not unmasked, which is slow in a debug build.
      var count = 0
      while count < size, let bytes = peer.bytes.read() { count += bytes.count }
      received.withLock { $0.append(count) }
      peer.send("thanks")
      while peer.readMessage() != nil {}
    }
    let socket = try socket {
      $0.maximumPendingBytes = 64 << 20
    } options: {
      $0.compression = nil
    }
    try await socket.send("small")
    try await socket.send(large)
    #expect(try await socket.receive() == .text("thanks"))
    #expect(received.withLock { $0 } == [size])
    try await socket.close()
  }

  @Test("A send beyond the queue limit fails at once; the queued ones fail when the socket is closed")
  func bounds() async throws {
    server.route("/") { _ in .status(503) }
    let socket = try socket(clock: StoppedClock()) { $0.maximumPendingMessages = 2 }
    await withTaskGroup(of: WebSocketError?.self) { group in
      for _ in 0..<3 {
        group.addTask {
          do {
            try await socket.send("x")
            return nil
          } catch {
            return error as? WebSocketError
          }
        }
      }
      #expect(await group.next() == .sendQueueFull)
      try? await socket.close()
      for await error in group { #expect(error == .closed(code: .normalClosure, reason: "")) }
    }
  }

  @Test("Cancelling a queued send removes its message from the queue")
  func cancelledMessage() async throws {
    server.route("/") { _ in .status(503) }
    let socket = try socket(clock: StoppedClock()) { $0.maximumPendingMessages = 1 }
    for _ in 0..<10 {
      await withTaskGroup(of: (any Error)?.self) { group in
        for _ in 0..<2 {
          group.addTask {
            do {
              try await socket.send("x")
              return nil
            } catch {
              return error
            }
          }
        }
        // That there is no room for one shows that the other one is in the queue.
        let refused: (any Error)? = await group.next() ?? nil
        #expect((refused as? WebSocketError) == .sendQueueFull)
        group.cancelAll()
        for await error in group { #expect(error is CancellationError) }
      }
    }
    try await socket.close()
  }

  @Test("A permanent refusal is not retried", arguments: [301, 401, 403, 404])
  func refusals(status: Int) async throws {
    server.route("/") { _ in .status(status, headers: ["Location": "/other"]) }
    let socket = try socket()
    await #expect {
      _ = try await socket.receive()
    } throws: {
      if case .refused(let code, _) = $0 as? WebSocketError { code == status } else { false }
    }
    await #expect {
      try await socket.send("x")
    } throws: {
      if case .refused(let code, _) = $0 as? WebSocketError { code == status } else { false }
    }
    #expect(server.requestCount == 1)
    #expect(await events(of: socket).last == "ended with an error")
  }

  @Test("The close codes of the policy end it, and no others do")
  func finalCodes() async throws {
    serve { number, peer in
      peer.close([1000, 1008, 4001][min(number, 3) - 1], "bye")
      _ = peer.readMessage()
    }
    let code = WebSocketCloseCode(rawValue: 4001)
    let socket = try socket { $0.finalCodes = [code] }
    let error = WebSocketError.closed(code: code, reason: "bye")
    await #expect(throws: error) { try await socket.receive() }
    await #expect(throws: error) { try await socket.send("late") }
    #expect(server.requestCount == 3)
    #expect(await events(of: socket).last == "ended with an error")
  }

  @Test("A 503 is retried after the delay in its Retry-After")
  func overload() async throws {
    let attempts = Locked(0)
    server.route("/") { request in
      let number = attempts.withLock { attempts in
        attempts += 1
        return attempts
      }
      return number == 1 ? .status(503, headers: ["Retry-After": "7"]) : .webSocket(request) { $0.close(1000) }
    }
    let clock = PatientClock()
    #expect(try await socket(clock: clock).receive() == nil)
    #expect(clock.sleeps == [.seconds(7)])
  }

  @Test("After too many failures the last error is thrown", .enabled(if: Machine.hasManyLoopbackAddresses))
  func giveUp() async throws {
    let clock = PatientClock()
    // The server holds the port at another address, so that no other process starts to listen at this one.
    let nowhere = try #require(URL(string: "ws://127.0.0.2:\(server.port)/"))
    let socket = try socket(to: nowhere, clock: clock) { $0.maximumFailures = 3 }
    await #expect(throws: URLError.self) { try await socket.receive() }
    #expect(clock.sleeps == [.seconds(1), .seconds(2), .seconds(4)])
  }

  @Test("A new request is made for each connection")
  func freshRequests() async throws {
    server.route("/") { request in
      .webSocket(request) { $0.close(request.headers["Authorization"] == "Bearer 3" ? 1000 : 1013) }
    }
    let tokens = Locked(0)
    let url = try url
    var options = WebSocketOptions()
    options.clock = PatientClock()
    options.connectTimeout = .seconds(1_000_000)
    options.closeTimeout = .seconds(1_000_000)
    let socket = ReconnectingWebSocket(options: options) {
      let number = tokens.withLock { tokens in
        tokens += 1
        return tokens
      }
      var request = URLRequest(url: url)
      request.setValue("Bearer \(number)", forHTTPHeaderField: "Authorization")
      return request
    }
    #expect(try await socket.receive() == nil)
    #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2", "Bearer 3"])
  }

  @Test("Cancelling the reader ends the socket, both while connected and between attempts")
  func cancellation() async throws {
    let left = Gate()
    serve { _, peer in
      _ = peer.readMessage()
      left.open()
    }
    let open = try socket()
    for await event in open.events { if case .connected = event { break } }
    let isReading = Gate()
    let reader = Task {
      isReading.open()
      return try await open.receive()
    }
    #expect(await isReading.wait())
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    #expect(await left.wait())
    #expect(try await open.receive() == nil)

    server.route("/") { _ in .status(503) }
    let clock = StoppedClock()
    let waiting = try socket(clock: clock)
    let other = Task { try await waiting.receive() }
    for await _ in clock.isSleeping.stream {}
    other.cancel()
    await #expect(throws: CancellationError.self) { try await other.value }
    #expect(try await waiting.receive() == nil)
  }

  @Test("Dropping the socket closes with 1001; close() sends its code and reason")
  func leaving() async throws {
    let codes = Locked<[Data]>([])
    let left = [Gate(), Gate()]
    serve { number, peer in
      while let frame = peer.readFrame() {
        guard frame.opcode == 8 else { continue }
        codes.withLock { $0.append(frame.payload) }
        peer.send(opcode: 8, frame.payload)
        break
      }
      left[number - 1].open()
    }
    do {
      let socket = try socket()
      for await event in socket.events { if case .connected = event { break } }
    }
    #expect(await left[0].wait())
    let socket = try socket()
    for await event in socket.events { if case .connected = event { break } }
    try await socket.close(code: WebSocketCloseCode(rawValue: 4001), reason: "bye")
    #expect(await left[1].wait())
    #expect(codes.withLock { $0 } == [Data([3, 233]), Data([15, 161]) + Data("bye".utf8)])
    #expect(try await socket.receive() == nil)
    await #expect(throws: WebSocketError.invalidControlFrame) {
      try await socket.close(code: WebSocketCloseCode(rawValue: 1005))
    }
  }

  @Test("Closing during a handshake ends it at once")
  func closingWhileConnecting() async throws {
    server.route("/") { _ in .raw([.stall]) }
    let socket = try socket()
    await server.expectRequests(1)
    try await socket.close()
    #expect(try await socket.receive() == nil)
    #expect(await events(of: socket) == ["ended"])
  }

  @Test("A connection that opens while close() is called is closed with its code and reason")
  func closingAsItOpens() async throws {
    let (hasOpened, left, payload, url) = (Gate(), Gate(), Locked<Data?>(nil), try url)
    serve { _, peer in
      payload.withLock { $0 = peer.readFrame()?.payload }
      left.open()
    }
    let (events, continuation) = AsyncStream.makeStream(of: WebSocketEvent.self)
    let connection = ReconnectingConnection(
      policy: WebSocketReconnectPolicy(), clock: PatientClock(), events: continuation
    ) {
      let socket = try await WebSocket.connect(to: url)
      hasOpened.open()
      // That is too late to end the handshake.
      while !Task.isCancelled { await Task.yield() }
      return socket
    }
    connection.start()
    #expect(await hasOpened.wait())
    try await connection.close(WebSocketCloseCode(rawValue: 4001), "bye")
    #expect(await left.wait())
    #expect(payload.withLock { $0 } == Data([15, 161]) + Data("bye".utf8))
    for await event in events { #expect(name(event) == "ended") }
  }

  @Test("An idle reader does not block closing, and can still read the kept message")
  func restingReader() async throws {
    serve { _, peer in
      for index in 0..<100 { peer.send("\(index)") }
      while peer.readMessage() != nil {}
    }
    let socket = try socket()
    #expect(try await socket.receive() == .text("0"))
    try await socket.close()
    #expect(try await socket.receive() == .text("1"))
    #expect(try await socket.receive() == nil)
  }
}
