import EKNetwork
import HTTPTypes
import Hummingbird
import ServiceLifecycleTestKit
import Testing

@testable import Recipes

@Suite struct ServerTests {
  // MARK: - A proxy

  private func withProxy<Value: Sendable>(
    of upstream: Router<BasicRequestContext>, _ body: @escaping @Sendable (NetworkManager) async throws -> Value
  ) async throws -> Value {
    try await withServer(upstream) { url in
      try await withServer(UserProxy(upstream: url).router()) { try await body(NetworkManager(baseURL: $0)) }
    }
  }

  @Test func aProxyForwardsTheTrace() async throws {
    let traces = Book<TraceContext?>()
    let upstream = Router()
    upstream.get("users/:id") { request, context in
      let field = { (name: String) in HTTPField.Name(name).flatMap { request.headers[$0] } }
      await traces.add(field("traceparent").flatMap { TraceContext(traceparent: $0, tracestate: field("tracestate")) })
      return UserProxy.User(id: try context.parameters.require("id", as: Int.self), name: "Ada")
    }
    let context = try #require(
      TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b"))
    try await withProxy(of: upstream) { manager in
      manager.attemptMiddleware = [TracePropagator { context }]
      let user = try await manager.send(UserProxy.GetUser(id: 7))
      #expect(user.name == "Ada")
      manager.attemptMiddleware = []
      _ = try await manager.send(UserProxy.GetUser(id: 8))
    }
    let seen = await traces.entries
    #expect(seen.count == 2)
    #expect(seen.first??.traceID == context.traceID)
    #expect(seen.first??.spanID != context.spanID)
    #expect(seen.first??.tracestate == "a=b")
    // A request without a trace starts one.
    #expect(seen.last??.traceID != context.traceID)
    #expect(seen.last.flatMap { $0 } != nil)
  }

  @Test func whatFailsBehindTheProxyIsTheProxysToExplain() async throws {
    let upstream = Router()
    upstream.get("users/:id") { _, _ in
      Response(status: .notFound, body: ResponseBody(byteBuffer: ByteBuffer(string: "secret")))
    }
    try await withProxy(of: upstream) { manager in
      let error = await #expect(throws: EKNetwork.HTTPError.self) { try await manager.send(UserProxy.GetUser(id: 7)) }
      #expect(error?.statusCode == 404)
      #expect(error.map { String(decoding: $0.data, as: UTF8.self).contains("secret") } == false)
    }
  }

  @Test func aLongBodyIsPassedOnInPieces() async throws {
    let upstream = Router()
    upstream.get("users/:id/photo") { _, _ in
      let piece = ByteBuffer(repeating: 7, count: 64 * 1024)
      return Response(
        status: .ok, headers: [.contentType: "image/png"],
        body: ResponseBody { writer in
          for _ in 0..<100 { try await writer.write(piece) }
          try await writer.finish(nil)
        })
    }
    try await withProxy(of: upstream) { manager in
      let photo = try await manager.stream(UserProxy.GetPhoto(id: 1))
      #expect(photo.headers["Content-Type"] == "image/png")
      var count = 0
      for try await piece in photo.body { count += piece.count }
      #expect(count == 6_553_600)
    }
  }

  private struct Post: NetworkRequest {
    typealias Response = Data
    var path = "/echo"
    var method = HTTPMethod.post
    var body: EKNetwork.RequestBody?
    let acceptedStatuses = StatusCodes.any
    let redirectPolicy = RedirectPolicy.reject
  }

  private static func withForwardingProxy(
    of upstream: Router<BasicRequestContext>, _ body: @escaping @Sendable (NetworkManager) async throws -> Void
  ) async throws {
    try await withServer(upstream) { url in
      let router = Router()
      router.add(middleware: ForwardingProxy(upstream: url))
      try await withServer(router) { url in
        try await body(NetworkManager(baseURL: url, session: URLSession(configuration: .ephemeral)))
      }
    }
  }

  @Test func aForwardingProxyKeepsResponsesAsTheyAre() async throws {
    let upstream = Router()
    upstream.get("teapot") { request, _ in
      var headers: HTTPFields = [.contentType: "text/plain"]
      headers.append(HTTPField(name: .setCookie, value: "a=1"))
      headers.append(HTTPField(name: .setCookie, value: "b=2; Path=/"))
      headers[.location] = "/elsewhere"
      // A field for the connection to the proxy only.
      headers[.connection] = "X-Hop"
      if let name = HTTPField.Name("X-Hop") { headers[name] = "secret" }
      let seen = request.headers[.cookie] ?? "no cookie"
      return Response(
        status: .init(code: 302, reasonPhrase: "Found"), headers: headers,
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(string: seen))
          try await writer.finish(HTTPField.Name("X-Sum").map { [$0: "9"] })
        })
    }
    try await Self.withForwardingProxy(of: upstream) { manager in
      // The second client has cookies of its own, and not those of the first.
      for _ in 0..<2 {
        let response = try await manager.response(to: Post(path: "/teapot", method: .get))
        #expect(response.statusCode == 302)
        #expect(response.values(for: "Set-Cookie") == ["a=1", "b=2; Path=/"])
        #expect(response.trailers.value(for: "X-Sum") == "9")
        #expect(response.values(for: "X-Hop").isEmpty)
      }
      let fresh = NetworkManager(baseURL: manager.baseURL(), session: URLSession(configuration: .ephemeral))
      let seen = try await fresh.send(Post(path: "/teapot", method: .get))
      #expect(String(decoding: seen, as: UTF8.self) == "no cookie")
    }
  }

  @Test func aForwardingProxyPassesBodiesOn() async throws {
    let upstream = Router()
    upstream.post("echo") { request, _ in
      let via = HTTPField.Name("Via").flatMap { request.headers[$0] } ?? ""
      var headers = HTTPFields()
      headers[.contentType] = request.headers[.contentType]
      headers[.server] = via + " " + (request.headers[.acceptEncoding] ?? "")
      return Response(status: .accepted, headers: headers, body: ResponseBody(asyncSequence: request.body))
    }
    try await Self.withForwardingProxy(of: upstream) { manager in
      let sent = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) })
      let whole = EKNetwork.RequestBody(data: sent, contentType: "a/b")
      let pieces = EKNetwork.RequestBody(contentType: "a/b") {
        AsyncStream<Data> { input in
          for start in stride(from: 0, to: sent.count, by: 10_000) { input.yield(sent[start..<start + 10_000]) }
          input.finish()
        }
      }
      for body in [whole, pieces] {
        let response = try await manager.response(to: Post(body: body))
        #expect(response.statusCode == 202 && response.data == sent)
        #expect(response.value(forHTTPHeaderField: "Content-Type") == "a/b")
        #expect(response.value(forHTTPHeaderField: "Server")?.hasPrefix("1.1 proxy") == true)
      }
    }
  }

  @Test func aForwardingProxyForwardsPathsOnly() throws {
    let upstream = try #require(URL(string: "https://api.example.co"))
    #expect(ForwardingProxy.url(of: "/a?b=c", at: upstream)?.absoluteString == "https://api.example.co/a?b=c")
    for target in ["m://a/", "@a.example/", ".a.example/", "*", ""] {
      #expect(ForwardingProxy.url(of: target, at: upstream) == nil)
    }
  }

  @Test func aForwardingProxyWithoutItsServerIsABadGateway() async throws {
    let router = Router()
    router.add(middleware: ForwardingProxy(upstream: try #require(URL(string: "http://127.0.0.1:1"))))
    try await withServer(router) { url in
      let response = try await NetworkManager(baseURL: url).response(to: Post())
      #expect(response.statusCode == 502)
    }
  }

  // MARK: - A service

  @Test func aListenerEndsWhenTheProgramIsAskedTo() async throws {
    let router = Router()
    router.get("ping") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "text/event-stream"],
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(string: "data: one\n\ndata: two\n\n"))
          // Until the client closes the connection or the server stops.
          try await Task.sleep(for: .seconds(600))
        })
    }
    let events = Book<String>()
    try await withServer(router) { url in
      try await testGracefulShutdown { trigger in
        let listener = EventListener(manager: NetworkManager(baseURL: url), request: Feed()) { event in
          await events.add(event.data)
          if event.data == "two" { trigger.triggerGracefulShutdown() }
        }
        try await listener.run()
      }
    }
    #expect(await events.entries == ["one", "two"])
  }
}

private struct Feed: NetworkRequest, Sendable {
  typealias Response = EmptyResponse
  let path = "/ping"
  let method = HTTPMethod.get
}
