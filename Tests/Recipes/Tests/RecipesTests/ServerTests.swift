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
