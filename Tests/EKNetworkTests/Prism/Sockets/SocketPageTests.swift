import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(Darwin)
  import Network
#endif

private enum ChatCommand: PrismNetworkSocketCommand {
  case join(room: String, user: String)
  case raw(String)

  var message: String {
    switch self {
    case .join(let room, let user): #"{"type":"join","room":"\#(room)","user":"\#(user)"}"#
    case .raw(let text): text
    }
  }
}

private struct NowhereRequest: PrismNetworkSocketRequest {
  let endpoint: (any PrismNetworkSocketEndpoint)? = nil
}

@Suite("The socket page", .timeLimit(.minutes(10)))
struct SocketPageTests {
  private static func line(_ line: UnsafeRawBufferPointer, _ number: Int) -> Data? { Data(line) }

  @Test("Lines are split at LF and CRLF, however the bytes are divided")
  func lines() throws {
    let input = Data("a\r\nb\n\nc\rd\r\r\nrest".utf8)
    for pieces in cuts(of: input) {
      var splitter = LineSplitter(maximumLength: 100, keepsBlankLines: true)
      var lines: [Data] = []
      for piece in pieces {
        splitter.append(piece)
        while let line = try splitter.next(Self.line) { lines.append(line) }
      }
      #expect(lines.map { String(decoding: $0, as: UTF8.self) } == ["a", "b", "", "c\rd\r"])
      #expect(splitter.takeRest() == Data("rest".utf8))
    }
    var splitter = LineSplitter(maximumLength: 3, keepsBlankLines: true)
    splitter.append(Data("a\nb\nabcd".utf8))
    #expect(try splitter.next(Self.line) == Data("a".utf8))
    #expect(try splitter.next(Self.line) == Data("b".utf8))
    #expect(throws: StreamLineTooLongError(line: 3, limitBytes: 3)) { try splitter.next(Self.line) }
    var cut = LineSplitter(maximumLength: 3, keepsBlankLines: true)
    cut.append(Data("ab".utf8))
    #expect(try cut.next(Self.line) == nil)
    cut.append(Data("c\nde".utf8))
    #expect(try cut.next(Self.line) == Data("abc".utf8))
    #expect(try cut.next(Self.line) == nil)
    cut.append(Data("fg\n".utf8))
    #expect(throws: StreamLineTooLongError(line: 2, limitBytes: 3)) { try cut.next(Self.line) }
    // Also where no line break has arrived, or a piece alone would not be too long.
    var open = LineSplitter(maximumLength: 3, keepsBlankLines: true)
    open.append(Data("ab".utf8))
    #expect(try open.next(Self.line) == nil)
    open.append(Data("cd".utf8))
    #expect(throws: StreamLineTooLongError(line: 1, limitBytes: 3)) { try open.next(Self.line) }
  }

  @Test("Commands are sent as lines and frames are received over a WebSocket")
  func webSocket() async throws {
    let server = try LoopbackServer()
    server.route("/") { .webSocketEcho($0) }
    let socket = PrismNetworkSocketAdapter()
    await #expect(throws: PrismNetworkError.noConnectivity) { try await socket.send(command: ChatCommand.raw("x")) }
    await #expect(throws: PrismNetworkError.invalidURL) { try await socket.connect(with: NowhereRequest()) }
    let stream = try await socket.connect(to: SocketEndpoint(number: UInt16(server.port)))
    var frames = stream.makeAsyncIterator()
    try await socket.send(command: ChatCommand.join(room: "r", user: "u"))
    #expect(await frames.next() == Data(#"{"type":"join","room":"r","user":"u"}"#.utf8))
    try await socket.send(command: ChatCommand.raw("one\r\ntwo\r\n"))
    #expect(await frames.next() == Data("one".utf8))
    #expect(await frames.next() == Data("two".utf8))
    await socket.disconnect()
    #expect(await frames.next() == nil)
    #expect(await socket.disconnectionError == nil)
    await #expect(throws: PrismNetworkError.noConnectivity) { try await socket.send(command: ChatCommand.raw("x")) }
    server.stop()
  }

  @Test("A second connection ends the first and stays usable")
  func reconnecting() async throws {
    let server = try LoopbackServer()
    server.route("/") { .webSocketEcho($0) }
    let socket = PrismNetworkSocketAdapter()
    let first = try await socket.connect(to: SocketEndpoint(number: UInt16(server.port)))
    let second = try await socket.connect(to: SocketEndpoint(number: UInt16(server.port)))
    for await _ in first { Issue.record("The first brought something") }
    try await socket.send(command: ChatCommand.raw("still here"))
    var frames = second.makeAsyncIterator()
    #expect(await frames.next() == Data("still here".utf8))
    server.stop()
  }

  @Test("A refused WebSocket and a missing server throw the documented errors")
  func refusals() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .status(401) }
    let socket = PrismNetworkSocketAdapter()
    let endpoint = SocketEndpoint(number: UInt16(server.port))
    await #expect(throws: PrismNetworkError.unauthorized) { try await socket.connect(to: endpoint) }
    let refused = await #expect(throws: PrismNetworkFailure.self) {
      _ = try await PrismNetworkFailure.detailed { try await socket.connect(to: endpoint) }
    }
    #expect(refused?.statusCode == 401)
    #expect(refused?.url?.port == server.port)
    server.stop()
    await #expect(throws: PrismNetworkError.noConnectivity) { try await socket.connect(to: endpoint) }
    let missing = await #expect(throws: PrismNetworkFailure.self) {
      _ = try await PrismNetworkFailure.detailed { try await socket.connect(to: endpoint) }
    }
    #expect(missing?.error == .noConnectivity)
    #expect((missing?.underlyingError as? URLError)?.code == .cannotConnectToHost)
  }

  @Test("Of the endpoint and the options, the shorter timeout and the smaller message size apply")
  func parameters() throws {
    var options = WebSocketOptions()
    options.connectTimeout = .seconds(20)
    options.maximumMessageSize = 1_000
    for (timeout, size, expected) in [(0, 0, (20, 1_000)), (5, 10, (5, 10)), (60, 5_000, (20, 1_000))] {
      let endpoint = SocketEndpoint(number: 80, connectionTimeout: timeout, maximumMessageSize: size)
      let applied = try SocketDestination(endpoint).applied(to: options)
      #expect(applied.connectTimeout == .seconds(expected.0))
      #expect(applied.maximumMessageSize == expected.1)
    }
    #expect(NWParameters.tls.defaultProtocolStack.transportProtocol is NWProtocolTCP.Options)
  }

  @Test(
    "The address in a log has no secrets",
    arguments: [
      (SocketEndpoint(number: 80, path: "/a?token=secret#b"), "ws://127.0.0.1:80/a?token=<redacted>"),
      (SocketEndpoint(number: 80, path: "a;key=secret"), "ws://127.0.0.1:80/a;key=<redacted>"),
      (SocketEndpoint(number: 81, isWebSocket: false, path: "/secret"), "tcp://127.0.0.1:81"),
      (SocketEndpoint(number: 0), nil),
    ] as [(SocketEndpoint, String?)])
  func addressInLog(_ endpoint: SocketEndpoint, _ expected: String?) throws {
    #expect(try SocketDestination(endpoint).redactedForLog == expected)
    let logger: any PrismLogger = endpoint
    logger.log()
  }

  #if os(Linux)
    private struct StoredEndpoint: PrismNetworkSocketEndpoint {
      let host: NWEndpoint.Host
      let port: NWEndpoint.Port
      let parameters: NWParameters
    }

    @Test("An endpoint can store its parameters, which several threads may change at once")
    func storedParameters() async throws {
      let endpoint = StoredEndpoint(
        host: "127.0.0.1", port: .any, parameters: NWParameters(tls: NWProtocolTLS.Options()))
      let stack = endpoint.parameters.defaultProtocolStack
      let options = NWProtocolWebSocket.Options()
      stack.applicationProtocols.insert(options, at: 0)
      #expect(endpoint.parameters.debugDescription == "tcp, tls, websocket")
      #expect(endpoint.port.rawValue == 0)
      await #expect(throws: PrismNetworkError.invalidURL) {
        try await PrismNetworkSocketAdapter().connect(to: endpoint)
      }
      await withTaskGroup { group in
        for size in 1...100 {
          group.addTask {
            options.maximumMessageSize = size
            options.autoReplyPing = size.isMultiple(of: 2)
            (stack.transportProtocol as? NWProtocolTCP.Options)?.connectionTimeout = size
            stack.applicationProtocols = [options, NWProtocolTLS.Options()]
          }
        }
      }
      let destination = try SocketDestination(endpoint)
      #expect(destination.isSecure && (1...100).contains(destination.maximumMessageSize))
      #expect((1...100).contains(destination.connectTimeout))
    }
  #endif

  @Test("The timeout of the endpoint's parameters ends a connection whose handshake is not answered")
  func connectionTimeout() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/") { _ in .raw([.stall]) }
    let clock = ManualClock()
    var options = WebSocketOptions()
    options.clock = clock
    let socket = PrismNetworkSocketAdapter(options: options)
    let endpoint = SocketEndpoint(number: UInt16(server.port), connectionTimeout: 3)
    let failure = Task {
      await #expect(throws: PrismNetworkFailure.self) {
        _ = try await PrismNetworkFailure.detailed { try await socket.connect(to: endpoint) }
      }
    }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(3))
    let cause = await failure.value
    #expect(cause?.error == .noConnectivity)
    #expect(cause?.underlyingError as? WebSocketError == .timedOut)
  }

  @Test("A message that is larger than the endpoint's parameters allow ends the connection")
  func maximumMessageSize() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/") { .webSocketEcho($0) }
    let socket = PrismNetworkSocketAdapter()
    let endpoint = SocketEndpoint(number: UInt16(server.port), maximumMessageSize: 8)
    var frames = try await socket.connect(to: endpoint).makeAsyncIterator()
    try await socket.send(command: ChatCommand.raw("1234567"))
    #expect(await frames.next() == Data("1234567".utf8))
    try await socket.send(command: ChatCommand.raw("12345678"))
    #expect(await frames.next() == nil)
    guard case .protocolViolation(.messageTooBig, _) = await socket.disconnectionError as? WebSocketError else {
      Issue.record("\(String(describing: await socket.disconnectionError))")
      return
    }
  }

  /// Without the credentials it would be another user's connection.
  @Test("A header field that cannot be sent is an error and is not dropped", arguments: ["a\r\nb: c", "a\0", "a\nb"])
  func invalidFields(value: String) async throws {
    let server = try LoopbackServer()
    server.route("/") { .webSocketEcho($0) }
    let endpoint = SocketEndpoint(number: UInt16(server.port), headers: ["Authorization": value])
    await #expect(throws: PrismNetworkError.badRequest) { try await PrismNetworkSocketAdapter().connect(to: endpoint) }
    #expect(server.acceptedConnections == 0)
    server.stop()
  }

  @Test("Without WebSocket options, lines are received over TCP, and an unterminated one is dropped")
  func rawLines() async throws {
    let server = try LoopbackServer()
    // The server reads the first bytes as a request; its response is not HTTP.
    server.fallback = { _ in .raw("a\r\nb\nrest") }
    let socket = PrismNetworkSocketAdapter()
    let stream = try await socket.connect(to: SocketEndpoint(number: UInt16(server.port), isWebSocket: false))
    try await socket.send(command: ChatCommand.raw("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
    var lines: [String] = []
    for await line in stream { lines.append(String(decoding: line, as: UTF8.self)) }
    #expect(lines == ["a", "b"])
    server.stop()
  }
}
