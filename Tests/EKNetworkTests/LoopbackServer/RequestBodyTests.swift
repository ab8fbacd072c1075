import Foundation
import LoopbackServer
import Testing

@Suite("Loopback server: request bodies", .timeLimit(.minutes(10)))
struct RequestBodyTests {
  private let expecting = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"

  @Test("Expect: 100-continue gets 100 Continue or the final response")
  func expectContinue() throws {
    let server = try LoopbackServer()
    server.route("/") { .text($0.text) }
    let client = try RawClient(port: server.port)
    try client.write(expecting)
    #expect(try client.readAnswer(hasBody: false).status == 100)
    try client.write("hello")
    #expect(try client.readAnswer().text == "hello")

    server.route("/", onHead: { _ in .respond(.status(417).then(.close)) }) { _ in .text("never") }
    let refused = try RawClient(port: server.port)
    try refused.write(expecting)
    #expect(try refused.readAnswer().status == 417)
    #expect(try refused.read().isEmpty)
    let record = try #require(server.requests.last)
    #expect(!record.isComplete && record.bodyByteCount == 0)
  }

  @Test("Expect: 100-continue can be ignored")
  func ignoresExpectation() throws {
    let server = try LoopbackServer { $0.answersExpectContinue = false }
    server.route("/") { .text($0.text) }
    let client = try RawClient(port: server.port)
    try client.write(expecting + "hello")
    #expect(try client.readAnswer().text == "hello")
  }

  @Test("An early response reaches a client that is still uploading, and the connection is reused")
  func earlyResponse() throws {
    let server = try LoopbackServer()
    server.route("POST", "/", onHead: { _ in .respond(.status(413)) }) { _ in .text("never") }
    server.route("GET", "/", .text("next"))
    let client = try RawClient(port: server.port)
    try client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
    #expect(try client.readAnswer().status == 413)
    try client.write(Data(repeating: 1, count: 300_000))
    #expect(try client.get("/").text == "next")
    #expect(server.acceptedConnections == 1)
  }

  @Test("An early response with a close is not overtaken by a reset")
  func earlyResponseAndClose() throws {
    let server = try LoopbackServer()
    server.route("/", onHead: { _ in .respond(.text("no", status: 413).then(.close)) }) { _ in .text("never") }
    let client = try RawClient(port: server.port)
    try client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
    try client.write(Data(repeating: 1, count: 200_000))
    let response = try client.readAnswer()
    #expect(response.status == 413)
    #expect(response.text == "no")
    #expect(try client.read().isEmpty)
  }

  @Test("A server that does not read blocks the client until it does")
  func backPressure() async throws {
    let gate = Gate()
    let server = try LoopbackServer { $0.receiveBufferSize = 16 << 10 }
    server.route("/", onHead: { _ in .steps([.read(total: 1000), .wait(gate), .discard]) }) { request in
      .text("\(request.bodyByteCount) \(request.body.count)")
    }
    let client = try RawClient(port: server.port)
    let total = 20_000_000
    try client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(total)\r\n\r\n")
    let piece = Data(repeating: 7, count: 100_000)
    var sent = 0
    while case let count = try client.writeWithoutBlocking(piece), count > 0 { sent += count }
    #expect(sent < 10_000_000)
    gate.open()
    while sent < total {
      let next = piece.prefix(total - sent)
      try client.write(next)
      sent += next.count
    }
    let kept = try #require(try client.readAnswer().text.split(separator: " ").last.flatMap { Int($0) })
    #expect(kept < 200_000)
    #expect(server.requests.first?.bodyByteCount == total)
  }

  @Test("A body can be read slowly")
  func trickles() throws {
    let server = try LoopbackServer()
    server.route("/", onHead: { _ in .steps([.trickle(chunk: 10, every: .milliseconds(1))]) }) { .text($0.text) }
    let client = try RawClient(port: server.port)
    let body = String(repeating: "0123456789", count: 20)
    try client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n" + body)
    #expect(try client.readAnswer().text == body)
  }

  @Test("A reset during an upload keeps the received bytes on record")
  func resetsWhileUploading() async throws {
    let server = try LoopbackServer()
    server.route("/", onHead: { _ in .steps([.read(total: 5), .reset]) }) { _ in .text("never") }
    let client = try RawClient(port: server.port)
    try client.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
    #expect(throws: RawClient.Failure.self) { _ = try client.readToEnd() }
    let request = try #require(await server.waitForRequests(count: 1).first)
    #expect(request.text == "hello")
    #expect(!request.isComplete)
  }

  @Test("A request whose client disconnects during the body is recorded as incomplete")
  func clientLeaves() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .text("never") }
    let client = try RawClient(port: server.port)
    try client.write("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
    client.disconnect()
    let request = try #require(await server.waitForRequests(count: 1).first)
    #expect(request.text == "hel")
    #expect(request.rawBody == Data("5\r\nhel".utf8))
    #expect(!request.isComplete)
  }
}
