import Dispatch
import LoopbackServer
import Testing

@testable import EKNetwork

struct ResponsesTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  @Test(arguments: Wire.allCases)
  func emptyResponses(_ wire: Wire) async throws {
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

  /// A `Data` response is the raw body, not a Base64 string in JSON.
  @Test(arguments: Wire.allCases)
  func dataResponseIsNotDecoded(_ wire: Wire) async throws {
    server.route("/bytes", .text("{\"id\":1}"), .text("x"), .status(204))
    let manager = wire.manager(server)
    #expect(try await manager.send(Probe<Data>(path: "/bytes")) == Data("{\"id\":1}".utf8))
    manager.responseDecoderProvider = { JSONDecoder() }
    #expect(try await manager.send(Probe<Data>(path: "/bytes")) == Data("x".utf8))
    await #expect(throws: NetworkError.emptyResponse) { try await manager.send(Probe<Data>(path: "/bytes")) }
  }

  /// An optional response type is treated like the type itself, by both interfaces.
  @Test(arguments: Wire.allCases)
  func optionalResponses(_ wire: Wire) async throws {
    server.route("/bytes") { _ in .text("[x]") }
    server.route("/none") { _ in .status(204) }
    let manager = wire.manager(server)
    for _ in 0..<2 {
      #expect(try await manager.send(Probe<Data?>(path: "/bytes")) == Data("[x]".utf8))
      for path in ["/bytes", "/none"] {
        #expect(try await manager.send(Probe<EmptyResponse?>(path: path)) == EmptyResponse())
        #expect(
          try await manager.send(Probe<StatusCodeResponse?>(path: path))?.statusCode == (path == "/none" ? 204 : 200))
      }
      manager.responseDecoderProvider = { JSONDecoder() }
    }
    let adapter = PrismNetworkAdapter(configuration: .ephemeral)
    let (bytes, none) = (server.endpoint { $0.path = "/bytes" }, server.endpoint { $0.path = "/none" })
    #expect(try await adapter.request(on: LocalRequest<Data?>(bytes), with: nil) == Data("[x]".utf8))
    #expect(try await adapter.request(on: LocalRequest<EmptyResponse?>(none), with: nil) == EmptyResponse())
  }

  @Test func fieldLookupIgnoresCase() async throws {
    server.route("/fields") { _ in .text("", headers: ["ETag": "\"v\""]) }
    let manager = Wire.automatic.manager(server)
    let status = try await manager.send(Probe<StatusCodeResponse>(path: "/fields"))
    #expect(status.value(forHTTPHeaderField: "etag") == "\"v\"")
    let stream = try await manager.stream(Probe<StatusCodeResponse>(path: "/fields"))
    #expect(stream.value(forHTTPHeaderField: "ETAG") == "\"v\"")
    #expect(stream.value(forHTTPHeaderField: "none") == nil)
  }

  @Test func errorsHaveDescriptions() {
    let errors: [any Error] = [
      NetworkError.unauthorized, NetworkError.invalidURL, StreamingError.errorPayloadTooLarge(limitBytes: 7),
      EventStreamError.unexpectedContentType("text/html"), EventStreamError.unexpectedStatus(201),
      StreamLineTooLongError(line: 3, limitBytes: 7), NetworkMiddlewareError.changedDestination,
      PrismGraphQLSubscriptionError.notAcknowledged, PrismGraphQLSubscriptionError.rejected([]),
      StubSession.UnexpectedRequest(request: "GET /", routes: []),
    ]
    for error in errors { #expect(!error.localizedDescription.contains("The operation could not be completed")) }
    #expect(StreamLineTooLongError(line: 3, limitBytes: 7).localizedDescription == "Line 3 is longer than 7 bytes")
  }

  @Test func statusDecodesWithoutHeaders() throws {
    func decoded(_ json: String) throws -> StatusCodeResponse {
      try JSONDecoder().decode(StatusCodeResponse.self, from: Data(json.utf8))
    }
    #expect(try decoded(#"{"statusCode": 204}"#) == StatusCodeResponse(statusCode: 204, headers: [:]))
    #expect(
      try decoded(#"{"statusCode": 204, "headers": {"A": "b"}}"#)
        == StatusCodeResponse(statusCode: 204, headers: ["A": "b"]))
  }

  @Test func acceptsFoundationHeaderFields() throws {
    let url = try #require(URL(string: "http://a/"))
    let response = try #require(
      HTTPURLResponse(url: url, statusCode: 404, httpVersion: nil, headerFields: ["X-A": "b"]))
    let fields: [AnyHashable: Any] = response.allHeaderFields
    #expect(HTTPError(statusCode: 404, data: Data(), headers: fields).headers == ["X-A": "b"])
    #expect(StatusCodeResponse(statusCode: 404, headers: fields).headers == ["X-A": "b"])
    // Literals are not ambiguous.
    #expect(HTTPError(statusCode: 404, data: Data(), headers: [:]).headers == [:])
    #expect(StatusCodeResponse(statusCode: 404, headers: ["X-A": "b"]).headers == ["X-A": "b"])
    let data = Data("x".utf8)
    #expect(
      MultipartFormData.Part(name: "a", filename: "f", data: data, mimeType: "text/x")
        == MultipartFormData.Part(name: "a", data: data, mimeType: "text/x", filename: "f"))
  }

  @Test func unneededBodyIsIgnored() async throws {
    server.route("/item") { _ in .text("<html>", headers: ["X-A": "b"]) }
    let manager = Wire.automatic.manager(server)
    _ = try await manager.send(Probe<EmptyResponse>())
    #expect(try await manager.send(Probe<StatusCodeResponse>()).headers["X-A"] == "b")
  }

  @Test func managerDecoderIsUsedWhenAllowed() async throws {
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

  @Test(.timeLimit(.minutes(10))) func requestInProgressKeepsItsDecoder() async throws {
    struct Dated: Decodable, Sendable { let at: Date }
    struct Get: NetworkRequest, Sendable {
      typealias Response = Dated
      let path = "/item"
      let method = HTTPMethod.get
    }
    let gate = Gate()
    server.route("/item") { _ in
      gate.waitBlocking()
      return .json(#"{"at":1}"#)
    }
    let manager = Wire.automatic.manager(server)
    let request = Get()
    let sent = Task { try await manager.send(request) }
    let existential = Task { try await (manager as any NetworkManaging).send(request) }
    let cached = Task { try await manager.send(request, policy: .networkOnly, cache: PrismResponseCache()) }
    await server.expectRequests(3)
    manager.responseDecoderProvider = {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      return decoder
    }
    gate.open()
    for task in [sent, existential, cached] {
      #expect(try await task.value.at == Date(timeIntervalSinceReferenceDate: 1))
    }
  }

  @Test func requestMayOverrideDecoding() async throws {
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
  func progressNeverDecreasesAndEndsAtOne(_ wire: Wire) async throws {
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

  /// 256 KiB of zeros.
  private static let gzip = Data(
    base64Encoded: "H4sIAAAAAAACA+3BMQEAAADCoPVP7W0HoAA" + String(repeating: "A", count: 337) + "3gAi6g7iAAAEAA==")

  @Test(arguments: Wire.allCases)
  func compressedLengthDoesNotOvershootProgress(_ wire: Wire) async throws {
    let gzip = try #require(Self.gzip)
    server.route("/item") { _ in .data(gzip, headers: ["Content-Encoding": "gzip"]) }
    let progress = NetworkProgress()
    let watcher = Task {
      var seen: [Double] = []
      for await fraction in progress.$fractionCompleted.values {
        seen.append(fraction)
        if fraction >= 1 { break }
      }
      return seen
    }
    let response = try await wire.manager(server).send(Raw(progress: progress))
    #expect(response == 262_144)
    let seen = await watcher.value
    #expect(seen.last == 1)
    #expect(seen == seen.sorted())
  }

  /// Returns the length of the response body.
  private struct Raw: NetworkRequest {
    typealias Response = Int
    let path = "/item"
    let method = HTTPMethod.get
    var progress: NetworkProgress?

    func decodeResponse(data: Data, response: URLResponse) throws -> Int { data.count }
  }

  @Test(arguments: Wire.allCases)
  func progressOfAFailureStaysBelowOne(_ wire: Wire) async throws {
    server.route("/item") { _ in .text(String(repeating: "no", count: 100_000), status: 500) }
    let progress = NetworkProgress()
    await #expect(throws: HTTPError.self) { _ = try await wire.manager(server).send(ItemProbe(progress: progress)) }
    #expect(progress.fractionCompleted < 1)
  }

  @Test(arguments: Wire.allCases, [204, 205, 200])
  func emptySuccessFitsTypesThatAllowIt(_ wire: Wire, _ status: Int) async throws {
    struct Plain<R: Decodable>: NetworkRequest {
      typealias Response = R
      let path = "/item"
      let method = HTTPMethod.delete
    }
    server.route("/item") { _ in .status(status, headers: ["X-A": "b"]) }
    let manager = wire.manager(server)
    #expect(try await manager.send(Plain<EmptyResponse>()) == EmptyResponse())
    #expect(try await manager.send(Plain<StatusCodeResponse>()).statusCode == status)
    await #expect(throws: NetworkError.emptyResponse) { _ = try await manager.send(Plain<Item>()) }
    // A decoder provider does not change that.
    manager.responseDecoderProvider = { JSONDecoder() }
    #expect(try await manager.send(Plain<EmptyResponse>()) == EmptyResponse())
    #expect(try await manager.send(Plain<StatusCodeResponse>()).headers["X-A"] == "b")
    await #expect(throws: NetworkError.emptyResponse) { _ = try await manager.send(Plain<Item>()) }
  }

  @Test(arguments: Wire.allCases)
  func errorOfEmptyHandlerIsThrown(_ wire: Wire) async throws {
    struct NotEmpty: Error {}
    struct Strict: NetworkRequest {
      typealias Response = Item
      let path = "/item"
      let method = HTTPMethod.get
      var emptyResponseHandler: ((HTTPURLResponse) throws -> Item)? { { _ in throw NotEmpty() } }
    }
    struct StrictlyEmpty: NetworkRequest {
      let path = "/item"
      let method = HTTPMethod.get
      var emptyResponseHandler: ((HTTPURLResponse) throws -> EmptyResponse)? {
        { if $0.statusCode != 204 { throw NotEmpty() } else { EmptyResponse() } }
      }
    }
    server.route("/item", .status(204), .json(Item(id: 1)), .status(200), .status(204), .text("body"))
    let manager = wire.manager(server)
    await #expect(throws: NotEmpty.self) { _ = try await manager.send(Strict()) }
    #expect(try await manager.send(Strict()) == Item(id: 1))
    await #expect(throws: NotEmpty.self) { _ = try await manager.send(StrictlyEmpty()) }
    for _ in 1...2 { #expect(try await manager.send(StrictlyEmpty()) == EmptyResponse()) }
  }

  @Test(arguments: Wire.allCases)
  func notModifiedIsNotSuccess(_ wire: Wire) async throws {
    server.route("/item") { _ in .status(304, headers: ["ETag": "e"]) }
    let error = await #expect(throws: HTTPError.self) { _ = try await wire.manager(server).send(ItemProbe()) }
    #expect(error?.statusCode == 304)
    #expect(error?.data.isEmpty == true)
    #expect(error?.value(forHTTPHeaderField: "etag") == "e")
  }

  /// Decodes only while the main actor is free: its initialiser waits for the main thread to do something.
  private struct NeedsMainActor: Decodable, Sendable {
    let wasFree: Bool

    init(from decoder: any Decoder) throws {
      let answered = DispatchSemaphore(value: 0)
      DispatchQueue.main.async { answered.signal() }
      wasFree = answered.wait(timeout: .now() + 300) == .success
    }
  }

  @MainActor @Test func decodingLeavesTheMainActorFree() async throws {
    server.route("/item") { _ in .json("{}") }
    let manager = Wire.automatic.manager(server)
    #expect(try await manager.send(Probe<NeedsMainActor>()).wasFree)
  }
}
