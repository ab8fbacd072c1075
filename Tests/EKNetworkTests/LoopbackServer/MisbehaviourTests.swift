import Foundation
import LoopbackServer
import Testing

@Suite("Loopback server: misbehaviour", .timeLimit(.minutes(10)))
struct MisbehaviourTests {
  private func exchange(_ response: LoopbackServer.Response) throws -> (server: LoopbackServer, client: RawClient) {
    let server = try LoopbackServer()
    server.route("/", response)
    let client = try RawClient(port: server.port)
    try client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    return (server, client)
  }

  @Test("Raw bytes are sent unchanged, then the connection ends")
  func raw() throws {
    let (server, client) = try exchange(.raw("HTTP/1.1 200\r\nX\u{1}: \r\n\r\n"))
    #expect(try client.readToEnd() == "HTTP/1.1 200\r\nX\u{1}: \r\n\r\n")
    server.stop()
  }

  @Test("A raw response can leave the connection open")
  func rawKeepAlive() throws {
    let (server, client) = try exchange(
      .raw([.sendString("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")]).then(.keepAlive))
    #expect(try client.readAnswer().text == "x")
    #expect(try client.get("/").text == "x")
    #expect(server.acceptedConnections == 1)
  }

  @Test("A response waits for a gate, and opens another to report its progress")
  func gates() async throws {
    let arrived = Gate()
    let goOn = Gate()
    let (server, client) = try exchange(
      .streaming(contentLength: 4, [.sendString("ab"), .open(arrived), .wait(goOn), .sendString("cd")]))
    #expect(await arrived.wait())
    _ = try client.readAnswer(hasBody: false)
    #expect(try client.read(exactly: 2) == Data("ab".utf8))
    #expect(server.openConnections == 1)
    goOn.open()
    #expect(try client.read(exactly: 2) == Data("cd".utf8))
  }

  @Test("A stall lasts until the client disconnects")
  func stall() async throws {
    let (server, client) = try exchange(.raw([.sendString("HTTP/1.1 200 OK\r\n"), .stall]))
    #expect(try client.read(exactly: 17).count == 17)
    #expect(await server.waitForOpenConnections(1))
    client.disconnect()
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("A disconnect of the client ends a wait for a gate and a delay", arguments: [0, 1])
  func leavesWhileWaiting(_ which: Int) async throws {
    let arrived = Gate()
    let (server, client) = try exchange(.raw([.open(arrived), which == 0 ? .wait(Gate()) : .delay(.seconds(1000))]))
    #expect(await arrived.wait())
    client.disconnect()
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("Trickled bytes arrive completely and in order")
  func trickle() throws {
    let (server, client) = try exchange(.raw([.trickle(Data("hello world".utf8), chunk: 2, every: .milliseconds(1))]))
    #expect(try client.readToEnd() == "hello world")
    server.stop()
  }

  @Test("A reset is an error, a close is an end, a half-close leaves the other direction open")
  func endings() throws {
    let (first, resetClient) = try exchange(.raw([.sendString("abc"), .reset]))
    #expect(throws: RawClient.Failure.self) { _ = try resetClient.readToEnd() }
    let (second, closeClient) = try exchange(
      .streaming(contentLength: 10, [.sendString("abc"), .close, .sendString("d")]))
    #expect(try closeClient.readToEnd().hasSuffix("\r\n\r\nabc"))
    let (third, halfClient) = try exchange(.raw([.sendString("abc"), .halfClose]).then(.keepAlive))
    #expect(try halfClient.readToEnd() == "abc")
    try halfClient.write("GET /again HTTP/1.1\r\nHost: a\r\n\r\n")
    for server in [first, second, third] { server.stop() }
  }

  @Test("A complete response can end with an announced close, a silent close or a reset")
  func responseEndings() throws {
    let (first, announced) = try exchange(.text("x").then(.close))
    #expect(try announced.readAnswer().header("Connection") == "close")
    #expect(try announced.read().isEmpty)
    let (second, silent) = try exchange(.text("x").then(.closeSilently))
    #expect(try silent.readAnswer().header("Connection") == nil)
    #expect(try silent.read().isEmpty)
    let (third, reset) = try exchange(.text("x").then(.reset))
    #expect(throws: RawClient.Failure.self) {
      _ = try reset.readAnswer()
      _ = try reset.read()
    }
    for server in [first, second, third] { server.stop() }
  }

  @Test("A connection closed on the next request records it and does not respond")
  func closesOnNextRequest() throws {
    let (server, client) = try exchange(.text("x").then(.closeOnNextRequest))
    #expect(try client.readAnswer().text == "x")
    try client.write("GET /again HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try client.read().isEmpty)
    #expect(server.requests.map(\.path) == ["/", "/again"])
  }

  @Test("The requests per connection can be limited")
  func requestsPerConnection() throws {
    let server = try LoopbackServer { $0.requestsPerConnection = 2 }
    server.route("/", .text("x"))
    let client = try RawClient(port: server.port)
    #expect(try client.get("/").text == "x")
    #expect(try client.get("/").header("Connection") == nil)
    #expect(try client.read().isEmpty)
  }

  @Test("A flood blocks when the client stops reading, and the counter shows where")
  func flood() async throws {
    let counter = ByteCounter()
    let server = try LoopbackServer { $0.sendBufferSize = 64 << 10 }
    let total = 50_000_000
    server.route("/", .streaming(contentLength: total, [.flood(bytes: total, counter: counter)]))
    let client = try RawClient(port: server.port, receiveBufferSize: 64 << 10)
    try client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    let stopped = await counter.waitUntilBlocked()
    #expect(stopped > 0 && stopped < 8_000_000)
    #expect(!counter.isFinished)
    _ = try client.readAnswer(hasBody: false)
    var received = 0
    while received < total { received += try client.read().count }
    #expect(received == total)
    #expect(await counter.waitUntilFinished() == total)
    #expect(server.bytesSent > total)
  }

  @Test("Nothing is accepted before the gate opens, although the client is connected")
  func acceptsLate() async throws {
    let gate = Gate()
    let server = try LoopbackServer { $0.acceptGate = gate }
    let client = try RawClient(port: server.port)
    try client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(server.acceptedConnections == 0)
    gate.open()
    #expect(try client.readAnswer().status == 404)
  }

  @Test("A refusing port refuses connections")
  func refused() throws {
    let port = try LoopbackServer.refusedPort()
    #expect(throws: RawClient.Failure.self) { _ = try RawClient(port: port) }
    let other = try LoopbackServer.RefusingPort()
    #expect(throws: RawClient.Failure.self) { _ = try RawClient(port: other.port) }
  }

  #if os(Linux)
    @Test("A connection to an unresponsive port stays in progress")
    func unresponsive() throws {
      let port = try LoopbackServer.UnresponsivePort()
      let failure = try #require(throws: RawClient.Failure.self) {
        _ = try RawClient(port: port.port, patience: 50_000)
      }
      #expect(failure.code == EINPROGRESS)
    }
  #endif
}
