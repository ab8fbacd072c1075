import Dispatch
import LoopbackServer
import Testing

@testable import EKNetwork

@Suite struct ResponsesTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  @Test(arguments: Wire.allCases)
  func emptyAnswers(_ wire: Wire) async throws {
    struct Custom: NetworkRequest {
      struct Response: Decodable, Equatable { let status: Int; let header: String? }
      let path = "/empty"
      let method = HTTPMethod.get
      var emptyResponseHandler: ((HTTPURLResponse) throws -> Response)? {
        { Response(status: $0.statusCode, header: $0.value(forHTTPHeaderField: "X-Custom")) }
      }
    }
    server.route("/empty") { _ in .status(204, headers: ["X-Custom": "c"]) }
    let manager = wire.manager(server)
    // `Probe` is generic: the constrained extensions of the protocol are not picked for it.
    #expect(try await manager.send(Probe<EmptyResponse>(path: "/empty")) == EmptyResponse())
    let status = try await manager.send(Probe<StatusCodeResponse>(path: "/empty"))
    #expect(status.statusCode == 204)
    #expect(status.headers["X-Custom"] == "c")
    #expect(try await manager.send(Custom()) == .init(status: 204, header: "c"))
    await #expect(throws: NetworkError.emptyResponse) { _ = try await manager.send(ItemProbe(path: "/empty")) }
  }

  @Test func aBodyIsIgnoredByThoseWhoDoNotWantOne() async throws {
    server.route("/item") { _ in .text("<html>", headers: ["X-A": "b"]) }
    let manager = Wire.automatic.manager(server)
    _ = try await manager.send(Probe<EmptyResponse>())
    #expect(try await manager.send(Probe<StatusCodeResponse>()).headers["X-A"] == "b")
  }

  @Test func theManagersDecoderTakesOverWhereItMay() async throws {
    struct Dated: Decodable, Sendable { let at: Date }
    server.route("/item") { _ in .json(#"{"at":"2026-01-02T03:04:05Z"}"#) }
    let manager = Wire.automatic.manager(server)
    await #expect(throws: DecodingError.self) { _ = try await manager.send(Probe<Dated>()) }
    manager.responseDecoderProvider = {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      return decoder
    }
    #expect(try await manager.send(Probe<Dated>()).at.timeIntervalSince1970 == 1_767_323_045)
    await #expect(throws: DecodingError.self) {
      _ = try await manager.send(Probe<Dated>(allowsResponseDecoderOverride: false))
    }
  }

  @Test func aRequestMayDecodeAsItLikes() async throws {
    struct Text: NetworkRequest {
      typealias Response = String
      let path = "/item"
      let method = HTTPMethod.get
      func decodeResponse(data: Data, response: URLResponse) throws -> String {
        "\((response as? HTTPURLResponse)?.statusCode ?? 0) " + String(decoding: data, as: UTF8.self)
      }
    }
    server.route("/item") { _ in .text("plain") }
    #expect(try await Wire.automatic.manager(server).send(Text()) == "200 plain")
  }

  @Test(arguments: Wire.allCases)
  func progressNeverGoesBackAndEndsAtOne(_ wire: Wire) async throws {
    let size = 4 * 1024 * 1024
    server.route("POST", "/item") { _ in .json(Item(id: 1)) }
    server.route("GET", "/item") { _ in
      .json(Item(id: 1, name: String(repeating: "x", count: size)))
    }
    let manager = wire.manager(server)
    let body = RequestBody(data: Data(count: size), contentType: "text/x")
    for request in [ItemProbe(method: .post, body: body), ItemProbe(method: .get)] {
      var request = request
      let progress = NetworkProgress()
      request.progress = progress
      let watcher = Task {
        var last = 0.0
        for await fraction in progress.$fractionCompleted.values {
          #expect(fraction >= last)
          last = fraction
          if fraction >= 1 { break }
        }
        return last
      }
      _ = try await manager.send(request)
      #expect(progress.fractionCompleted == 1)
      #expect(await watcher.value == 1)
    }
  }

  /// Decodes only while the main actor is free: its initialiser waits for the main thread to do something.
  private struct NeedsMainActor: Decodable, Sendable {
    let wasFree: Bool

    init(from decoder: any Decoder) throws {
      let answered = DispatchSemaphore(value: 0)
      DispatchQueue.main.async { answered.signal() }
      wasFree = answered.wait(timeout: .now() + 30) == .success
    }
  }

  @MainActor @Test func decodingLeavesTheMainActorFree() async throws {
    server.route("/item") { _ in .json("{}") }
    let manager = Wire.automatic.manager(server)
    #expect(try await manager.send(Probe<NeedsMainActor>()).wasFree)
  }
}
