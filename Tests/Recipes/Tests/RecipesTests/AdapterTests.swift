import EKNetwork
import HTTPTypes
import Hummingbird
import OpenAPIRuntime
import Testing

@testable import Recipes

@Suite struct AdapterTests {
  // MARK: - swift-openapi-runtime

  private func body(_ text: String, _ behavior: HTTPBody.IterationBehavior, length: Int64?) -> HTTPBody {
    let pieces = AsyncStream<ArraySlice<UInt8>> { input in
      for byte in text.utf8 { input.yield([byte]) }
      input.finish()
    }
    return HTTPBody(pieces, length: length.map { .known($0) } ?? .unknown, iterationBehavior: behavior)
  }

  private static func text(_ body: HTTPBody?) async throws -> String {
    var bytes: [UInt8] = []
    guard let body else { return "" }
    for try await piece in body { bytes += piece }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: [nil, Int64(5)]) func generatedClientsAreSent(length: Int64?) async throws {
    let router = Router()
    router.post("api/echo") { request, _ in
      let body = try await request.body.collect(upTo: 100)
      var headers = HTTPFields()
      headers.append(HTTPField(name: .setCookie, value: "a=1"))
      headers.append(HTTPField(name: .setCookie, value: "b=2"))
      headers[.contentType] = request.headers[.contentType]
      headers[.location] = request.uri.string
      return Response(status: .init(code: 418), headers: headers, body: ResponseBody(byteBuffer: body))
    }
    let sent = body("hello", .single, length: length)
    try await withServer(router) { url in
      let transport = OpenAPITransport(manager: NetworkManager(baseURL: url))
      var request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/echo?q=a%20b&q=")
      request.headerFields[.contentType] = "text/plain"
      let base = url.appendingPathComponent("api/")
      let (head, body) = try await transport.send(request, body: sent, baseURL: base, operationID: "echo")
      #expect(head.status.code == 418)
      #expect(head.headerFields[values: .setCookie] == ["a=1", "b=2"])
      #expect(head.headerFields[.contentType] == "text/plain")
      #expect(head.headerFields[.location] == "/api/echo?q=a%20b&q=")
      let text = try await Self.text(body)
      #expect(text == "hello")
    }
  }

  // MARK: - MCP

  private struct Call: Codable, Equatable, Sendable {
    var method: String
    var session: String?
  }

  /// A server that answers `initialize` with a message, notifications with nothing, and everything else with a stream.
  private static func server(_ calls: Book<Call>) -> Router<BasicRequestContext> {
    let router = Router()
    let sessionField = HTTPField.Name("Mcp-Session-Id")
    @Sendable func session(_ request: Request) -> String? { sessionField.flatMap { request.headers[$0] } }
    router.post("mcp") { request, _ in
      let data = try await request.body.collect(upTo: 100_000)
      let message = try JSONDecoder().decode(Call.self, from: Data(data.readableBytesView))
      await calls.add(Call(method: message.method, session: session(request)))
      switch message.method {
      case "initialize":
        var headers: HTTPFields = [.contentType: "application/json"]
        if let sessionField { headers[sessionField] = "7" }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: #"{"id":1}"#)))
      case "notify": return Response(status: .accepted)
      default:
        return Response(
          status: .ok, headers: [.contentType: "text/event-stream"],
          body: ResponseBody(byteBuffer: ByteBuffer(string: "data: {\"id\":2}\n\ndata: {\"id\":3}\n\n")))
      }
    }
    router.get("mcp") { request, _ in
      await calls.add(Call(method: "GET", session: session(request)))
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream"],
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(string: "data: {\"id\":4}\n\n"))
          try await Task.sleep(for: .seconds(600))
        })
    }
    router.delete("mcp") { request, _ in
      await calls.add(Call(method: "DELETE", session: session(request)))
      return Response(status: .noContent)
    }
    return router
  }

  @Test func messagesOfMCPComeInEveryForm() async throws {
    let calls = Book<Call>()
    let received = try await withServer(Self.server(calls)) { url in
      let transport = MCPTransport(endpoint: url.appendingPathComponent("mcp"))
      await transport.connect()
      var received: [String] = []
      var iterator = await transport.receive().makeAsyncIterator()
      func send(_ method: String, answers: Int) async throws {
        try await transport.send(try JSONEncoder().encode(Call(method: method)))
        for _ in 0..<answers {
          if let data = try await iterator.next() { received.append(String(decoding: data, as: UTF8.self)) }
        }
      }
      try await send("initialize", answers: 1)
      try await send("notify", answers: 1)
      try await send("tools", answers: 2)
      await transport.disconnect()
      #expect(try await iterator.next() == nil)
      return received
    }
    #expect(received == [#"{"id":1}"#, #"{"id":4}"#, #"{"id":2}"#, #"{"id":3}"#])
    let seen = await calls.entries
    #expect(
      seen == [
        Call(method: "initialize"), Call(method: "notify", session: "7"), Call(method: "GET", session: "7"),
        Call(method: "tools", session: "7"), Call(method: "DELETE", session: "7"),
      ])
  }
}
