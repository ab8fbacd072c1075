#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Servers close idle connections at any time, even while the next request is on its way.
  struct StaleConnectionTests {
    private struct Case: Sendable {
      var method: HTTPMethod
      var bodySize: Int?
      var resends: Bool?
      var isFile = false
      /// RFC 9110 §9.2.2.
      var mayBeSentTwice: Bool { resends ?? method.isIdempotent }
    }

    private static let cases: [Case] = [
      Case(method: .get), Case(method: .head), Case(method: .delete),
      Case(method: .put, bodySize: 0), Case(method: .put, bodySize: 5), Case(method: .put, bodySize: 300_000),
      Case(method: .post), Case(method: .post, bodySize: 0), Case(method: .post, bodySize: 5),
      Case(method: .post, bodySize: 300_000), Case(method: .patch, bodySize: 5),
      Case(method: .post, resends: true), Case(method: .post, bodySize: 5, resends: true),
      Case(method: .post, bodySize: 300_000, resends: true), Case(method: .get, resends: false),
      Case(method: .put, bodySize: 300_000, isFile: true), Case(method: .post, bodySize: 300_000, isFile: true),
      Case(method: .post, bodySize: 300_000, resends: true, isFile: true),
    ]

    private func probe(_ item: Case, path: String, _ folder: ScratchFolder) throws -> Probe<StatusCodeResponse> {
      var probe = Probe<StatusCodeResponse>(path: path, method: item.method, resends: item.resends)
      probe.body = item.bodySize.map { RequestBody(data: Data(repeating: 7, count: $0), contentType: "a/b") }
      if item.isFile, let size = item.bodySize {
        let file = try folder.file("body", Data(repeating: 7, count: size))
        probe.body = RequestBody(file: file, contentType: "a/b")
      }
      return probe
    }

    /// The GET after a POST's redirect may be sent again, although the POST may not.
    @Test func redirectOfPostIsResentOnStaleConnection() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/form") { _ in .status(303, headers: ["Location": "/result"]).then(.closeOnNextRequest) }
      server.fallback = { _ in .text("") }
      let manager = Wire.automatic.isolatedManager(server)
      var form = Probe<StatusCodeResponse>(path: "/form", method: .post)
      form.body = RequestBody(data: Data([7]), contentType: "a/b")
      #expect(try await manager.send(form).statusCode == 200)
      #expect(server.requests(path: "/form").count == 1)
    }

    private struct Order: NetworkRequest {
      typealias Response = StatusCodeResponse
      var headers: [String: String]?
      var headerFields: HeaderFieldList?
      var path: String { "/next" }
      var method: HTTPMethod { .post }
    }

    /// By which a server recognises a repetition.
    @Test(arguments: ["headers", "headerFields", "endpoint", "middleware", "attemptMiddleware"])
    func requestWithIdempotencyKeyIsResent(_ place: String) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/stale") { _ in .json(Teapot(id: 1)).then(.closeOnNextRequest) }
      server.fallback = { _ in .json(Teapot(id: 2)) }
      let key = ["Idempotency-Key": "k"]
      if place == "endpoint" {
        let adapter = PrismNetworkAdapter.forTests()
        _ = try await adapter.request(on: server.teapot { $0.path = "/stale" })
        let order = server.teapot { ($0.path, $0.method, $0.headers) = ("/next", .post, key) }
        #expect(try await adapter.request(on: order).id == 2)
      } else {
        let manager = Wire.automatic.isolatedManager(server)
        let adding = Intercept { request, _, next in
          var request = request
          if request.httpMethod == "POST" { request.setValue("k", forHTTPHeaderField: "Idempotency-Key") }
          return try await next(request)
        }
        if place == "middleware" { manager.middleware = [adding] }
        if place == "attemptMiddleware" { manager.attemptMiddleware = [adding] }
        _ = try await manager.send(Probe<StatusCodeResponse>(path: "/stale"))
        var order = Order()
        if place == "headers" { order.headers = key }
        if place == "headerFields" { order.headerFields = ["idempotency-key": "k"] }
        #expect(try await manager.send(order).statusCode == 200)
        // The first one has met the connection that the server leaves.
        #expect(server.requests(path: "/next").count == 2)
      }
      #expect(server.requests(path: "/next").allSatisfy { $0.header("Idempotency-Key") == "k" })
      #expect(server.acceptedConnections == 2)
    }

    /// The server may have processed what it received before it closed the connection.
    @Test(arguments: ["when the next request is there", "at once", "at once, with a reset"])
    func onlyRepeatableRequestsAreResent(_ closing: String) async throws {
      let folder = try ScratchFolder()
      let server = try LoopbackServer()
      defer { server.stop() }
      let ending: LoopbackServer.Response.Ending =
        switch closing {
        case "at once": .closeSilently
        case "at once, with a reset": .reset
        default: .closeOnNextRequest
        }
      server.route("/stale") { _ in .text("").then(ending) }
      server.fallback = { _ in .text("") }
      let manager = Wire.automatic.manager(server)
      for round in 0..<(500 / Self.cases.count) {
        for (index, item) in Self.cases.enumerated() {
          server.reset()
          // The pool's only connection becomes one that the server closes instead of responding.
          _ = try await manager.send(Probe<StatusCodeResponse>(path: "/stale"))
          let path = "/next/\(round)/\(index)"
          let result = await Result { try await manager.send(probe(item, path: path, folder)) }
          let taken = server.requests(path: path)
          #expect(taken.allSatisfy { !$0.isComplete || $0.body.count == item.bodySize ?? 0 })
          switch result {
          case .success(let response):
            #expect(response.statusCode == 200)
            #expect(taken.contains { $0.isComplete })
            #expect(item.mayBeSentTwice || taken.count == 1, "\(item) was sent twice")
          case .failure(let error):
            #expect(!item.mayBeSentTwice, "\(item) was lost: \(error)")
            #expect((error as? URLError)?.code == .networkConnectionLost)
            #expect(taken.count <= 1)
          }
        }
      }
    }
  }

  extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
      do { self = .success(try await body()) } catch { self = .failure(error) }
    }
  }
#endif
