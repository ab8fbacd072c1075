import LoopbackServer
import Testing

@testable import EKNetwork

@Suite("WebSocket on the wire", .timeLimit(.minutes(10)))
struct WebSocketTests {
  private func url(_ server: LoopbackServer, _ path: String = "/") throws -> URL {
    try #require(URL(string: "ws://127.0.0.1:\(server.port)\(path)"))
  }

  private func echo() throws -> LoopbackServer {
    let server = try LoopbackServer()
    server.route("/") { .webSocketEcho($0) }
    return server
  }

  @Test("Text, binary messages and pings are echoed, and closing ends the sequence")
  func echoes() async throws {
    let server = try echo()
    let socket = try await WebSocket.connect(to: url(server))
    try await socket.send("grüße")
    #expect(try await socket.receive() == .text("grüße"))
    let large = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) })
    try await socket.send(large)
    #expect(try await socket.receive() == .binary(large))
    try await socket.ping()
    try await socket.close(code: WebSocketCloseCode(rawValue: 4000), reason: "done")
    #expect(try await socket.receive() == nil)
    #expect(socket.closeCode == WebSocketCloseCode(rawValue: 4000))
    await #expect(throws: WebSocketError.self) { try await socket.send("late") }
    server.stop()
  }

  @Test("With concurrent senders, each message arrives whole and in its sender's order")
  func manySenders() async throws {
    let server = try echo()
    let socket = try await WebSocket.connect(to: url(server))
    async let received: [String] = {
      var texts: [String] = []
      while texts.count < 1000, case .text(let text)? = try await socket.receive() { texts.append(text) }
      return texts
    }()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for sender in 0..<10 {
        group.addTask { for index in 0..<100 { try await socket.send("\(sender) \(index)") } }
      }
      try await group.waitForAll()
    }
    let texts = try await received
    for sender in 0..<10 {
      #expect(texts.filter { $0.hasPrefix("\(sender) ") } == (0..<100).map { "\(sender) \($0)" })
    }
    server.stop()
  }

  @Test("The handshake carries header fields and subprotocols")
  func handshakeFields() async throws {
    let server = try LoopbackServer()
    server.route("/") { .webSocket($0, subprotocol: "v1") { _ = $0.readMessage() } }
    var request = URLRequest(url: try url(server))
    request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
    let socket = try await WebSocket.connect(to: request, protocols: ["v2", "v1"])
    #expect(socket.subprotocol == "v1")
    #expect(server.requests[0].headers["Authorization"] == "Bearer t")
    try await socket.close()
    server.stop()
  }

  @Test("URL credentials are sent as Basic, and nowhere else, unless the request has an Authorization field")
  func credentials() async throws {
    let server = try echo()
    func connect(_ user: String, _ headers: [String: String] = [:]) async throws {
      var request = URLRequest(url: try #require(URL(string: "ws://\(user)127.0.0.1:\(server.port)/")))
      for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
      try await WebSocket.connect(to: request).close()
    }
    try await connect("")
    try await connect("Aladdin:open%20sesame@")
    try await connect("user@")
    try await connect("user:p@", ["authorization": "Bearer t"])
    #expect(
      server.requests.map { $0.headers["Authorization"] } == [
        nil, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Basic \(Data("user:".utf8).base64EncodedString())", "Bearer t",
      ])
    #expect(server.requests.allSatisfy { $0.target == "/" && $0.headers["Host"] == "127.0.0.1:\(server.port)" })
    let error = await #expect(throws: URLError.self) { try await connect("user:%FF@") }
    #expect(error?.code == .badURL)
    server.stop()
  }

  @Test("The header fields of the handshake's response have lowercase names, and repeated ones are joined")
  func responseHeaders() async throws {
    let server = try LoopbackServer()
    server.route("/") { request in
      LoopbackServer.Response.webSocketEcho(request)
        .header("X-Own", "1").header("x-OWN", " 2 ").header("Empty", "").header("Location", "/elsewhere")
    }
    let socket = try await WebSocket.connect(to: url(server))
    let headers = socket.responseHeaders
    #expect(headers["x-own"] == "1, 2")
    #expect(headers["empty"] == "")
    #expect(headers["location"] == "/elsewhere")
    #expect(headers["upgrade"] == "websocket")
    #expect(headers["sec-websocket-accept"] != nil)
    #expect(headers.keys.allSatisfy { $0 == $0.lowercased() })
    // They are there after the end as well.
    try await socket.close()
    #expect(socket.responseHeaders == headers)
    server.stop()
  }

  @Test("A refusal is an error with its status, and a redirect is not followed", arguments: [301, 401, 404, 503])
  func refusals(status: Int) async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .status(status, headers: ["Location": "/other"]) }
    await #expect {
      _ = try await WebSocket.connect(to: url(server))
    } throws: {
      if case .refused(let code, _) = $0 as? WebSocketError { code == status } else { false }
    }
    #expect(server.requests.count == 1)
    server.stop()
  }

  @Test("A close by the server ends the sequence, with an error unless the code is clean")
  func serverCloses() async throws {
    let server = try LoopbackServer()
    server.route("/ok") { .webSocket($0) { $0.close(1001) } }
    server.route("/bad") { .webSocket($0) { $0.close(1011, "oops") } }
    server.route("/rude") { .webSocket($0) { $0.bytes.reset() } }
    server.route("/wrong") {
      .webSocket($0) { peer in
        peer.bytes.write(Data([0x83, 0]))
        _ = peer.readMessage()
      }
    }
    #expect(try await WebSocket.connect(to: url(server, "/ok")).receive() == nil)
    await #expect(throws: WebSocketError.closed(code: .internalError, reason: "oops")) {
      try await WebSocket.connect(to: url(server, "/bad")).receive()
    }
    await #expect { try await WebSocket.connect(to: url(server, "/rude")).receive() } throws: {
      if case .connectionLost = $0 as? WebSocketError { true } else { false }
    }
    await #expect(throws: WebSocketError.protocolViolation(code: .protocolError, reason: "Unknown opcode")) {
      try await WebSocket.connect(to: url(server, "/wrong")).receive()
    }
    server.stop()
  }

  @Test("Maximum durations do not trap")
  func endlessOptions() async throws {
    let server = try echo()
    var options = WebSocketOptions()
    options.connectTimeout = .seconds(Int64.max)
    options.keepAliveInterval = .seconds(Int64.max)
    options.closeTimeout = .seconds(Int64.max)
    let socket = try await WebSocket.connect(to: url(server), options: options)
    try await socket.send("a")
    #expect(try await socket.receive() == .text("a"))
    try await socket.close()
    server.stop()
  }

  @Test("Cancelling the reader closes the connection")
  func cancellation() async throws {
    let server = try LoopbackServer()
    let gone = Gate()
    server.route("/") {
      .webSocket($0) { peer in
        peer.send("hello")
        _ = peer.readMessage()
        gone.open()
      }
    }
    let socket = try await WebSocket.connect(to: url(server))
    #expect(try await socket.receive() == .text("hello"))
    let reader = Task { try await socket.receive() }
    while socket.connection.state.withLock({ $0.receivers.count }) == 0 { await Task.yield() }
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    #expect(await gone.wait())
    server.stop()
  }

  @Test("An unanswered handshake times out; a cancelled one ends at once")
  func silentServer() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .raw([.stall]) }
    var options = WebSocketOptions()
    options.connectTimeout = .milliseconds(50)
    await #expect(throws: WebSocketError.timedOut) { try await WebSocket.connect(to: url(server), options: options) }
    server.route("/cancelled") { _ in .raw([.stall]) }
    let target = try url(server, "/cancelled")
    let attempt = Task { try await WebSocket.connect(to: target) }
    await server.expectRequests(1, path: "/cancelled")
    attempt.cancel()
    await #expect(throws: CancellationError.self) { _ = try await attempt.value }
    server.stop()
  }

  @Test(
    "The timeout of a request limits its handshake, unless the options have one",
    arguments: [
      (60, nil, .seconds(30)), (5, nil, .seconds(5)), (120, nil, .seconds(120)), (5, .seconds(30), .seconds(30)),
      (.infinity, nil, .seconds(Int64.max)), (60, .seconds(7), .seconds(7)),
    ] as [(TimeInterval, Duration?, Duration)])
  func timeoutOfRequest(_ interval: TimeInterval, _ own: Duration?, _ expected: Duration) throws {
    var options = WebSocketOptions()
    if let own { options.connectTimeout = own }
    let url = try #require(URL(string: "ws://example.com/"))
    options.inheritTimeout(of: try HTTPRequest(URLRequest(url: url, timeoutInterval: interval)))
    #expect(options.connectTimeout == expected)
  }

  @Test("A handshake does not take longer than its request may")
  func timeoutOfRequestOnTheWire() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .raw([.stall]) }
    let clock = ManualClock()
    let request = URLRequest(url: try url(server), timeoutInterval: 5)
    let attempt = Task {
      var options = WebSocketOptions()
      options.clock = clock
      return try await WebSocket.connect(to: request, options: options)
    }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(5))
    await #expect(throws: WebSocketError.timedOut) { _ = try await attempt.value }
    server.stop()
  }

  /// RFC 6265 §3: a user agent must process the cookies of every final response.
  @Test("The cookies of a refusal are stored, and sent with the next handshake", arguments: [302, 401, 403, 503])
  func cookiesOfRefusal(status: Int) async throws {
    let server = try LoopbackServer()
    server.route("/") { request in
      guard request.headers["Cookie"] == "a=1; b=2" else {
        return .status(status, headers: ["Location": "/"]).header("Set-Cookie", "a=1").header("Set-Cookie", "b=2")
      }
      return .webSocket(request) { $0.close(1000) }
    }
    var options = WebSocketOptions()
    options.cookieStorage = URLSessionConfiguration.ephemeral.httpCookieStorage
    await #expect(throws: WebSocketError.self) { try await WebSocket.connect(to: url(server), options: options) }
    #expect(try await WebSocket.connect(to: url(server), options: options).receive() == nil)
    server.stop()
  }

  @Test("A refused connection is a URLError")
  func refusedConnection() async throws {
    let server = try LoopbackServer()
    let target = try url(server)
    server.stop()
    await #expect(throws: URLError.self) { try await WebSocket.connect(to: target) }
  }

  @Test("A peer that does not answer pings times out")
  func deadPeer() async throws {
    let server = try LoopbackServer()
    server.route("/") { .webSocket($0) { peer in while peer.bytes.read() != nil {} } }
    var options = WebSocketOptions()
    options.keepAliveInterval = .milliseconds(20)
    let socket = try await WebSocket.connect(to: url(server), options: options)
    await #expect(throws: WebSocketError.timedOut) { try await socket.receive() }
    server.stop()
  }
}
