import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct TracePropagatorTests {
  @TaskLocal private static var current: TraceContext?

  private let server: LoopbackServer
  private let context: TraceContext

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { _ in .json(Item(id: 1)) }
    context = try #require(
      TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b"))
  }

  private func traces(_ server: LoopbackServer) -> [String?] { server.requests.map { $0.headers["traceparent"] } }

  @Test(arguments: Wire.allCases)
  func eachAttemptIsASpanOfCallersTrace(_ wire: Wire) async throws {
    server.route("/item", .status(503), .redirect(to: "/end"))
    server.route("/end") { _ in .json(Item(id: 2)) }
    let manager = wire.manager(server)
    manager.attemptMiddleware = [TracePropagator { Self.current?.child() }]
    var probe = ItemProbe()
    probe.retryPolicy = RetryPolicy(maxRetryCount: 1, delay: 0)
    #expect(try await Self.$current.withValue(context) { try await manager.send(probe) } == Item(id: 2))
    let sent = server.requests.compactMap { $0.headers["traceparent"].flatMap { TraceContext(traceparent: $0) } }
    #expect(sent.count == 3)
    #expect(Set(sent.map(\.traceID)) == [context.traceID])
    #expect(Set(sent.map(\.spanID)).count == 3)
    #expect(server.requests.map { $0.headers["tracestate"] } == ["a=b", "a=b", "a=b"])
    // Without a context nothing is added.
    server.reset()
    #expect(try await manager.send(ItemProbe(path: "/end")) == Item(id: 2))
    #expect(traces(server) == [nil])
  }

  @Test(arguments: Wire.allCases, [false, true])
  func otherOriginGetsTraceOnlyIfConfigured(_ wire: Wire, isAsked: Bool) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 2)) }
    server.route("/away", .redirect(to: other.url("/item").absoluteString))
    let manager = wire.manager(server)
    let context = context
    manager.attemptMiddleware = [TracePropagator(includesOtherOrigins: isAsked) { context }]
    var probe = ItemProbe(path: "/away")
    probe.headers = ["Traceparent": "mine", "tracestate": "mine=1"]
    #expect(try await manager.send(probe) == Item(id: 2))
    #expect(traces(server) == [context.traceparent])
    #expect(traces(other) == [isAsked ? context.traceparent : nil])
    #expect(other.requests.map { $0.headers["tracestate"] } == [isAsked ? "a=b" : nil])
  }

  /// Around the call, they are set for its origin, before it is known where a redirect leads.
  @Test(arguments: Wire.allCases, [false, true])
  func traceAroundCallStaysWithItsOrigin(_ wire: Wire, isSameOrigin: Bool) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 1)) }
    let target = isSameOrigin ? server.url("/item") : other.url("/item")
    server.route("/away", .redirect(to: target.absoluteString))
    let manager = wire.manager(server)
    let context = context
    manager.middleware = [TracePropagator(includesOtherOrigins: true) { context }]
    #expect(try await manager.send(ItemProbe(path: "/away")) == Item(id: 1))
    let expected: [String?] = isSameOrigin ? [context.traceparent, context.traceparent] : [context.traceparent]
    #expect(traces(server) == expected)
    #expect(isSameOrigin ? other.requestCount == 0 : traces(other) == [nil])
    #expect(other.requests.allSatisfy { $0.headers["tracestate"] == nil })
  }

  /// The fields differ for each request, and do not prevent a cache hit.
  @Test(arguments: Wire.allCases)
  func traceFieldsDoNotAffectCache(_ wire: Wire) async throws {
    server.route("/item") { _ in .json(Item(id: 3), headers: ["Cache-Control": "max-age=1000"]) }
    let manager = wire.manager(server)
    manager.httpCache = HTTPCache()
    manager.attemptMiddleware = [TracePropagator { TraceContext() }]
    for _ in 0..<3 { #expect(try await manager.send(ItemProbe()) == Item(id: 3)) }
    #expect(server.requestCount == 1)
  }

  @Test func endpointsPropagateTrace() async throws {
    let adapter = PrismNetworkAdapter(configuration: .ephemeral)
    let context = context
    adapter.attemptMiddleware = [TracePropagator { context }]
    let request = LocalRequest<Item>(server.endpoint())
    #expect(try await adapter.request(on: request, with: nil) == Item(id: 1))
    #expect(traces(server) == [context.traceparent])
  }
}
