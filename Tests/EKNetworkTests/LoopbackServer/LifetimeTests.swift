import Foundation
import LoopbackServer
import Testing

@Suite("Loopback server: lifetime", .timeLimit(.minutes(10)), .serialized)
struct LifetimeTests {
  private func connect(_ count: Int, to server: LoopbackServer, sending target: String) throws -> [RawClient] {
    try (0..<count).map { _ in
      let client = try RawClient(port: server.port)
      try client.write("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
      return client
    }
  }

  @Test("A thousand concurrent connections are all answered at the same moment")
  func thousand() async throws {
    try #require(LoopbackServer.raiseDescriptorLimit(to: 8192) >= 3000)
    let gate = Gate()
    let server = try LoopbackServer()
    server.route("/") { .streaming(contentLength: 1, [.wait(gate), .sendString($0.path == "/" ? "x" : "y")]) }
    let clients = try connect(1000, to: server, sending: "/")
    #expect(await server.waitForRequests(count: 1000).count == 1000)
    #expect(server.openConnections == 1000)
    gate.open()
    for client in clients { #expect(try client.readAnswer().text == "x") }
    #expect(server.peakConnections == 1000)
    for client in clients { client.disconnect() }
    #expect(await server.waitForOpenConnections(0))
    server.stop()
  }

  @Test("Stopping ends every kind of waiting at once")
  func stopsPromptly() async throws {
    // The server of another test may get the port at once, but not each time.
    var isFree = false
    for _ in 0..<10 {
      isFree = try await stopLeavesPortFree()
      if isFree { break }
    }
    #expect(isFree, "it still listens")
  }

  /// Stops a server with connections that wait for everything there is. Returns whether nothing listens on its port.
  private func stopLeavesPortFree() async throws -> Bool {
    let server = try LoopbackServer()
    let gate = Gate()
    server.route("/stall", .raw([.stall]))
    server.route("/gate", .raw([.wait(gate)]))
    server.route("/delay", .raw([.delay(.seconds(1000))]))
    server.route("/flood", .raw([.flood(bytes: .max)]))
    server.route("/handler") { _ in .text("\(gate.waitBlocking(timeout: .seconds(1000)))") }
    server.route("/head", onHead: { _ in .steps([.stall]) }) { _ in .status(200) }
    server.route("/upgrade", .upgrade { _ = $0.read() })
    server.route("/idle", .text("x"))
    var clients: [RawClient] = []
    for target in ["/stall", "/gate", "/delay", "/flood", "/handler", "/head", "/upgrade", "/idle"] {
      clients += try connect(10, to: server, sending: target)
    }
    #expect(await server.waitForRequests(count: 70).count == 70)
    let elapsed = ContinuousClock().measure { server.stop() }
    #expect(elapsed < .seconds(600), "it hangs")
    #expect(server.openConnections == 0)
    let isFree = (try? RawClient(port: server.port)) == nil
    server.stop()
    return isFree
  }

  /// Expects the end of the connection or a reset, which is not the end of the client's patience.
  private func expectEnd(of client: RawClient, sourceLocation: SourceLocation = #_sourceLocation) throws {
    do {
      let rest = try client.read()
      #expect(rest.isEmpty, sourceLocation: sourceLocation)
    } catch let failure as RawClient.Failure {
      #expect(failure.code == ECONNRESET, sourceLocation: sourceLocation)
    }
  }

  @Test("Deinitializing a server stops it")
  func deinitStops() throws {
    // The server of another test may get the port at once, but not each time.
    let isFree = try (0..<10).contains { _ in
      var server: LoopbackServer? = try LoopbackServer()
      let port = try #require(server?.port)
      server?.route("/", .raw([.stall]))
      let client = try RawClient(port: port)
      try client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      server = nil
      try expectEnd(of: client)
      return (try? RawClient(port: port)) == nil
    }
    #expect(isFree)
  }

  @Test("A handler may stop its own server")
  func stopsItself() throws {
    let server = try LoopbackServer()
    server.route("/") { _ in
      server.stop()
      return .text("gone")
    }
    let client = try RawClient(port: server.port)
    try client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    try expectEnd(of: client)
  }

  @Test("Connections can be closed while the server keeps running")
  func closesConnections() async throws {
    let server = try LoopbackServer()
    server.route("/", .text("x"))
    let client = try RawClient(port: server.port)
    #expect(try client.get("/").text == "x")
    server.closeConnections()
    #expect(try client.read().isEmpty)
    #expect(await server.waitForOpenConnections(0))
    #expect(try RawClient(port: server.port).get("/").text == "x")
  }

  @Test("A connection that the client has closed does not count as open beside the next one")
  func peakCountsBothEnds() async throws {
    let server = try LoopbackServer()
    // Unlike a gate, it does not end when the client is gone.
    let end = DispatchSemaphore(value: 0)
    defer { end.signal() }
    server.route("/busy") { _ in
      end.wait()
      return .text("x")
    }
    server.route("/", .text("x"))
    try connect(1, to: server, sending: "/busy")[0].disconnect()
    #expect(await server.waitForRequests(count: 1).count == 1)
    #expect(try RawClient(port: server.port).get("/").text == "x")
    #expect(server.openConnections >= 1 && server.peakConnections == 1)
  }

  @Test("A connection beyond the limit is closed at once")
  func connectionLimit() throws {
    let server = try LoopbackServer { $0.maximumConnections = 1 }
    server.route("/", .text("x"))
    let first = try RawClient(port: server.port)
    #expect(try first.get("/").text == "x")
    #expect(try RawClient(port: server.port).read().isEmpty)
  }

  #if os(Linux)
    @Test("No descriptors or threads are leaked")
    func leavesNothing() async throws {
      let before = (try Self.entries("fd"), try Self.entries("task"))
      for _ in 0..<20 {
        let server = try LoopbackServer()
        let gate = Gate()
        server.route("/stall", .raw([.stall]))
        server.route("/gate", .raw([.wait(gate)]))
        server.route("/done", .text("x"))
        var clients: [RawClient] = []
        for target in ["/stall", "/gate", "/done"] { clients += try connect(20, to: server, sending: target) }
        #expect(await server.waitForRequests(count: 60).count == 60)
        server.stop()
      }
      // Other suites open and close some of their own meanwhile; a leak would be over a thousand of each.
      #expect(try Self.entries("fd") < before.0 + 500)
      #expect(try Self.entries("task") < before.1 + 500)
    }

    private static func entries(_ folder: String) throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)").count
    }
  #endif
}
