import Foundation
import LoopbackServer
import Testing

@Suite("Loopback server: plain HTTP", .timeLimit(.minutes(10)))
struct LoopbackServerTests {
  @Test("Requests on one connection are answered and recorded in order")
  func keepAlive() throws {
    let server = try LoopbackServer()
    server.route("GET", "/a") { .text("a \($0.queryValue("q") ?? "")") }
    let client = try RawClient(port: server.port)
    let head = "GET /a?q=1+%C3%BC HTTP/1.1\r\nhOST: x\r\nX-A:  1 \r\nx-a: 2\r\n\r\n"
    try client.write(head)
    #expect(try client.readAnswer().text == "a 1 ü")
    #expect(try client.get("/b").status == 404)
    #expect(server.acceptedConnections == 1)
    let requests = server.requests
    #expect(requests.map(\.indexOnConnection) == [0, 1])
    #expect(requests[0].head == Data(head.utf8))
    #expect(requests[0].headers.values("X-A") == ["1", "2"])
    #expect(requests[0].target == "/a?q=1+%C3%BC")
    #expect(requests[0].path == "/a")
    #expect(server.requests(path: "/b").count == 1)
    server.reset()
    #expect(server.requests.isEmpty)
    server.stop()
  }

  @Test("Pipelined requests are answered in order")
  func pipelining() throws {
    let server = try LoopbackServer()
    server.fallback = { .text($0.path) }
    let client = try RawClient(port: server.port)
    try client.write((0..<50).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
    for index in 0..<50 { #expect(try client.readAnswer().text == "/\(index)") }
  }

  @Test("Chunked bodies are received and sent, with trailers")
  func chunked() throws {
    let server = try LoopbackServer()
    server.route("/c") { request in
      .chunked([request.body, Data(), Data("!".utf8)], trailers: ["X-T": "1", "X-T": "2"])
    }
    let client = try RawClient(port: server.port)
    let raw = "5\r\nhello\r\n1;ext\r\n?\r\n0\r\nX-In: yes\r\n\r\n"
    try client.write("POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + raw)
    #expect(try client.readAnswer(hasBody: false).header("Transfer-Encoding") == "chunked")
    let expected = "6\r\nhello?\r\n1\r\n!\r\n0\r\nX-T: 1\r\nX-T: 2\r\n\r\n"
    #expect(try client.read(exactly: expected.utf8.count) == Data(expected.utf8))
    let request = try #require(server.requests.first)
    #expect(request.rawBody == Data(raw.utf8))
    #expect(request.text == "hello?")
    #expect(request.trailers["x-in"] == "yes")
    #expect(request.isComplete)
  }

  @Test("HEAD has the headers of GET and no body; 204 has no Content-Length")
  func bodiless() throws {
    let server = try LoopbackServer()
    server.route("/x") { _ in .text("hello") }
    server.route("/204") { _ in .status(204) }
    server.route("/304") { _ in .status(304, headers: ["ETag": "\"1\""]) }
    let client = try RawClient(port: server.port)
    try client.write("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try client.readAnswer(hasBody: false).header("Content-Length") == "5")
    #expect(try client.get("/204").header("Content-Length") == nil)
    #expect(try client.get("/304").header("ETag") == "\"1\"")
    #expect(try client.get("/x").text == "hello")
  }

  @Test("Connection: close and HTTP/1.0 get an announced close")
  func clientCloses() throws {
    let server = try LoopbackServer()
    server.route("/x") { _ in .text("hello") }
    for request in ["GET /x HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", "GET /x HTTP/1.0\r\n\r\n"] {
      let client = try RawClient(port: server.port)
      try client.write(request)
      let response = try client.readAnswer()
      #expect(response.header("Connection") == "close")
      #expect(try client.read().isEmpty)
    }
  }

  @Test("Routes match method and prefix, later ones win, responses take turns, an error is 500")
  func routing() throws {
    struct Oops: Error {}
    let server = try LoopbackServer()
    server.route("/p/*") { _ in .text("prefix") }
    server.route("GET", "/p/x") { _ in .text("exact") }
    server.route("POST", "/p/x") { _ in .text("post") }
    server.route("/turn", .status(503), .json("{}"))
    server.route("/oops") { _ in throw Oops() }
    let client = try RawClient(port: server.port)
    #expect(try client.get("/p/x").text == "exact")
    #expect(try client.get("/p/y").text == "prefix")
    #expect(try client.get("/p").text == "prefix")
    #expect(try client.get("/px").status == 404)
    #expect(try [client.get("/turn"), client.get("/turn"), client.get("/turn")].map(\.status) == [503, 200, 200])
    #expect(try client.get("/oops").status == 500)
  }

  @Test("Header fields are sent as given, including repeated names, after informational responses")
  func headers() throws {
    let server = try LoopbackServer()
    server.route("/h") { _ in
      .json(["a": 1], headers: ["Set-Cookie": "a=1", "Set-Cookie": "b=2"]).preceded(by: 103, headers: ["Link": "</x>"])
    }
    let client = try RawClient(port: server.port)
    try client.write("GET /h HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try client.readAnswer(hasBody: false).head == "HTTP/1.1 103 Early Hints\r\nLink: </x>")
    let response = try client.readAnswer()
    #expect(response.head.contains("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n"))
    #expect(response.text == "{\"a\":1}")
  }

  @Test("Malformed and oversized requests get an error status and a close")
  func badRequest() throws {
    let server = try LoopbackServer { $0.maximumBodySize = 10 }
    for (request, status) in [("GET /\r\n\r\n", 400), ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", 413)]
    {
      let client = try RawClient(port: server.port)
      try client.write(request)
      #expect(try client.readAnswer().status == status)
      #expect(try client.read().isEmpty)
    }
  }

  @Test("A large body is received and sent back")
  func largeBodies() throws {
    let server = try LoopbackServer()
    server.route("/echo") { .data($0.body) }
    let client = try RawClient(port: server.port)
    let body = Data.noise(3_000_000)
    try client.write("PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
    try client.write(body)
    #expect(try client.readAnswer().body == body)
  }

  @Test("Waiting for requests ends with the last one, a cancellation or the timeout")
  func waits() async throws {
    let server = try LoopbackServer()
    async let waited = server.waitForRequests(count: 3, path: "/x")
    let client = try RawClient(port: server.port)
    for path in ["/x", "/y", "/x", "/x"] { _ = try client.get(path) }
    #expect(await waited.count == 3)
    let cancelled = Task { await server.waitForRequests(count: 100).count }
    cancelled.cancel()
    #expect(await cancelled.value == 4)
    #expect(await server.waitForRequests(count: 100, timeout: .milliseconds(1)).count == 4)
  }

  @Test("The record is bounded; omitted requests and bodies are still counted")
  func boundedRecord() throws {
    let server = try LoopbackServer {
      $0.recordLimit = 3
      $0.recordedBodyLimit = 5
    }
    server.fallback = { .text($0.text) }
    let client = try RawClient(port: server.port)
    for body in ["abc", "def", "gh", "ijk"] {
      try client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      #expect(try client.readAnswer().text == body)
    }
    #expect(server.requests.map(\.text) == ["abc", "", "gh"])
    #expect(server.requests.map(\.bodyByteCount) == [3, 3, 2])
    #expect(server.requestCount == 4)
  }

  @Test("Targets yield path and query, also in absolute form; query items are decoded")
  func targets() throws {
    let server = try LoopbackServer()
    let client = try RawClient(port: server.port)
    for target in ["/a%2Fb?x=1&y&x=%262", "http://example.com/p?q", "http://example.com", "*"] {
      #expect(try client.get(target).status == 404)
    }
    let requests = server.requests
    #expect(requests.map(\.path) == ["/a%2Fb", "/p", "", "*"])
    #expect(requests.map(\.query) == ["x=1&y&x=%262", "q", nil, nil])
    let expected = [("x", "1"), ("y", nil), ("x", "&2")].map { URLQueryItem(name: $0.0, value: $0.1) }
    #expect(requests.first?.queryItems == expected)
  }

  @Test("An upgraded connection is handed to the closure")
  func upgrade() throws {
    let server = try LoopbackServer()
    server.route("/echo") { _ in
      .upgrade(headers: ["Connection": "Upgrade", "Upgrade": "echo"]) { stream in
        while let data = stream.read() { stream.write(data) }
      }
    }
    let client = try RawClient(port: server.port)
    try client.write("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly")
    #expect(try client.readAnswer(hasBody: false).head.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
    #expect(try client.read(exactly: 5) == Data("early".utf8))
    try client.write("later")
    #expect(try client.read(exactly: 5) == Data("later".utf8))
  }
}
