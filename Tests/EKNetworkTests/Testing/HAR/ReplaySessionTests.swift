import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Exchanges recorded over real sockets, replayed without a network.
struct ReplaySessionTests {
  private let server: LoopbackServer
  private let recorder = HARRecorder()

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { .json(Item(id: Int($0.queryValue("id") ?? "") ?? 0)) }
  }

  private var recording: NetworkManager {
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [recorder]
    return manager
  }

  /// A manager that replays the recording and gets nothing from the server.
  private func replaying() throws -> (manager: NetworkManager, session: ReplaySession) {
    server.reset()
    let session = try ReplaySession(recorder)
    return (NetworkManager(baseURL: server.baseURL, session: session), session)
  }

  private func probe(_ id: Int) -> ItemProbe { ItemProbe(queryParameters: ["id": "\(id)"]) }

  // MARK: - Requests, streams and files

  @Test func eachRequestGetsItsOwnResponseInAnyOrder() async throws {
    for id in 1...3 { _ = try await recording.send(probe(id)) }
    let (manager, session) = try replaying()
    #expect(session.unusedRequests.count == 3)
    for id in [3, 1, 2] { #expect(try await manager.send(probe(id)) == Item(id: id)) }
    #expect(session.unusedRequests.isEmpty)
    #expect(server.requestCount == 0)
  }

  @Test func repeatedRequestsReplayInSequenceOnce() async throws {
    server.route("/turn", .json(Item(id: 1)), .json(Item(id: 2)))
    for _ in 0..<2 { _ = try await recording.send(ItemProbe(path: "/turn")) }
    let (manager, _) = try replaying()
    for id in [1, 2] { #expect(try await manager.send(ItemProbe(path: "/turn")) == Item(id: id)) }
    let error = await #expect(throws: ReplaySession.UnexpectedRequest.self) {
      try await manager.send(ItemProbe(path: "/turn"))
    }
    #expect(error?.reason == .usedUp)
    #expect(error?.recorded.allSatisfy { $0.hasSuffix("/turn (used)") } == true)
  }

  private struct Ask: NetworkRequest {
    typealias Response = StatusCodeResponse
    var path = "/secret"
    var method = HTTPMethod.get
    var credential: PasswordCredential? = PasswordCredential(user: "u", password: "p")
  }

  /// A password is only sent in response to a challenge.
  @Test(arguments: ["Basic realm=\"r\"", "Digest realm=\"r\", qop=\"auth\", nonce=\"n\""])
  func passwordChallengeIsReplayed(_ challenge: String) async throws {
    server.route("/secret") { request in
      request.headers["Authorization"] == nil ? .status(401, headers: ["WWW-Authenticate": challenge]) : .status(200)
    }
    #expect(try await recording.send(Ask()).statusCode == 200)
    let (manager, session) = try replaying()
    #expect(try await manager.send(Ask()).statusCode == 200)
    #expect(session.unusedRequests.isEmpty)
    #expect(server.requestCount == 0)
  }

  @Test func retryAndRedirectAreReplayed() async throws {
    server.route("/start", .status(503), .redirect(to: "/item?id=7&code=secret"))
    var probe = ItemProbe(path: "/start")
    probe.retryPolicy = RetryPolicy(maxRetryCount: 1, delay: 0)
    _ = try await recording.send(probe)
    let (manager, session) = try replaying()
    #expect(try await manager.send(probe) == Item(id: 7))
    #expect(session.unusedRequests.isEmpty && server.requestCount == 0)
  }

  @Test func rejectedRedirectIsTheResponse() async throws {
    server.route("/start", .redirect(to: "/elsewhere"))
    var probe = Probe<StatusCodeResponse>(path: "/start")
    probe.redirectPolicy = .reject
    let first = await #expect(throws: HTTPError.self) { try await recording.send(probe) }
    let (manager, _) = try replaying()
    let second = await #expect(throws: HTTPError.self) { try await manager.send(probe) }
    #expect(first?.statusCode == 302 && second?.statusCode == 302)
  }

  @Test func streamKeepsItsPieces() async throws {
    let gates = [Gate(), Gate()]
    server.route("/feed") { _ in
      .streaming([
        .chunk(Data("a".utf8)), .wait(gates[0]), .chunk(Data("bc".utf8)), .wait(gates[1]), .chunk(Data([0xFF])),
        .endOfChunks(),
      ])
    }
    let probe = Probe<EmptyResponse>(path: "/feed")
    var count = 0
    for try await _ in try await recording.stream(probe).body {
      if count < 2 { gates[count].open() }
      count += 1
    }
    let (manager, _) = try replaying()
    var pieces: [Data] = []
    for try await chunk in try await manager.stream(probe).chunks { pieces.append(chunk) }
    #expect(pieces == [Data("a".utf8), Data("bc".utf8), Data([0xFF])])
  }

  @Test func downloadAndUploadAreReplayed() async throws {
    let folder = try ScratchFolder()
    let content = Data.noise(200_000)
    server.route("/file") { _ in .data(content, headers: ["ETag": "\"v1\""]) }
    server.route("/upload") { .json(Item(id: $0.body.count)) }
    let download = Probe<EmptyResponse>(path: "/file")
    var upload = ItemProbe(path: "/upload", method: .put)
    upload.body = RequestBody(file: try folder.file("b", content), contentType: "application/octet-stream")
    _ = try await recording.download(download, to: folder["a"])
    _ = try await recording.send(upload)
    let (manager, _) = try replaying()
    let file = try await manager.download(download, to: folder["c"])
    #expect(try Data(contentsOf: file.url) == content)
    #expect(try await manager.send(upload) == Item(id: 200_000))
  }

  @Test func formMatchesDespiteOtherBoundary() async throws {
    server.route("/form") { .json(Item(id: $0.body.count > 100 ? 1 : 0)) }
    func probe(_ text: String) -> ItemProbe {
      var form = MultipartFormData()
      form.addPart(name: "note", data: Data(text.utf8), mimeType: "text/plain")
      return ItemProbe(path: "/form", method: .post, multipartData: form)
    }
    _ = try await recording.send(probe("one"))
    let (manager, _) = try replaying()
    #expect(try await manager.send(probe("one")) == Item(id: 1))
  }

  @Test func compressedBodyIsReplayedDecoded() async throws {
    let packed = try Bomb.gzip(Data(#"{"id":5,"name":"teapot"}"#.utf8))
    server.route("/packed") { _ in
      .data(packed, contentType: "application/json", headers: ["Content-Encoding": "gzip"])
    }
    _ = try await recording.send(ItemProbe(path: "/packed"))
    let (manager, _) = try replaying()
    #expect(try await manager.send(ItemProbe(path: "/packed")) == Item(id: 5))
  }

  // MARK: - Failures

  @Test func errorsAreReplayed() async throws {
    server.route("/missing", .json(#"{"why":"x"}"#, status: 404))
    server.route("/broken") { _ in .streaming(contentLength: 10, [.sendString("abc"), .close]) }
    await #expect(throws: HTTPError.self) { try await recording.send(ItemProbe(path: "/missing")) }
    let first = await #expect(throws: URLError.self) { try await recording.send(ItemProbe(path: "/broken")) }
    let (manager, _) = try replaying()
    let refusal = await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe(path: "/missing")) }
    #expect(refusal?.statusCode == 404 && refusal?.data == Data(#"{"why":"x"}"#.utf8))
    let second = await #expect(throws: URLError.self) { try await manager.send(ItemProbe(path: "/broken")) }
    #expect(second?.code == first?.code)
  }

  @Test func cancelledStreamEndsWithRecordedError() async throws {
    server.route("/slow") { _ in .streaming([.chunk(Data("one\n".utf8)), .stall]) }
    let probe = Probe<EmptyResponse>(path: "/slow")
    for try await _ in try await recording.stream(probe).body { break }
    #expect(await server.waitForOpenConnections(0))
    let (manager, _) = try replaying()
    var seen = Data()
    let error = await #expect(throws: ReplaySession.Failure.self) {
      for try await chunk in try await manager.stream(probe).body { seen += chunk }
    }
    #expect(seen == Data("one\n".utf8))
    #expect(error == .recorded("CancellationError"))
  }

  @Test func cancelledTaskUsesNoResponse() async throws {
    _ = try await recording.send(probe(1))
    let (manager, session) = try replaying()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await manager.send(probe(1))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(session.unusedRequests.count == 1)
  }

  @Test func truncatedBodyIsNotReplayedAsWhole() async throws {
    server.route("/big") { _ in .data(Data(count: 3000)) }
    let manager = Wire.automatic.manager(server)
    let recorder = HARRecorder(options: HAROptions(maximumBodySize: 1000))
    manager.attemptMiddleware = [recorder]
    for _ in 0..<2 { _ = try await manager.send(Probe<StatusCodeResponse>(path: "/big")) }
    let replay = NetworkManager(baseURL: server.baseURL, session: try ReplaySession(recorder))
    let error = await #expect(throws: ReplaySession.Failure.self) {
      try await replay.send(Probe<StatusCodeResponse>(path: "/big"))
    }
    #expect(error == .incompleteBody("GET \(server.url("/big").absoluteString)"))
    var count = 0
    await #expect(throws: ReplaySession.Failure.self) {
      for try await chunk in try await replay.stream(Probe<EmptyResponse>(path: "/big")).body { count += chunk.count }
    }
    #expect(count == 1000)
  }

  @Test func missingResponseErrorListsRecording() async throws {
    _ = try await recording.send(probe(1))
    let (manager, _) = try replaying()
    let error = await #expect(throws: ReplaySession.UnexpectedRequest.self) {
      try await manager.send(ItemProbe(path: "/other"))
    }
    let text = try #require(error).description
    let reason = "no request with this method and URL was recorded."
    #expect(text.hasPrefix("No recorded response for GET \(server.url("/other")): \(reason)"))
    #expect(text.contains("Recorded: GET \(server.url("/item"))?id=redacted-"))
    let empty = NetworkManager(baseURL: server.baseURL, session: try ReplaySession(HARRecorder()))
    let other = await #expect(throws: ReplaySession.UnexpectedRequest.self) { try await empty.send(probe(1)) }
    #expect(other?.description.hasSuffix("The recording is empty.") == true)
  }

  // MARK: - Matching

  @Test func bodyDistinguishesRequests() async throws {
    server.route("/echo") { request in .json(Item(id: Int(request.queryValue("n") ?? "") ?? 0, name: request.text)) }
    func probe(_ name: String) -> Probe<Item> {
      var probe = Probe<Item>(path: "/echo", method: .post)
      probe.body = RequestBody(data: Data(name.utf8), contentType: "text/plain")
      return probe
    }
    for name in ["a", "b"] { _ = try await recording.send(probe(name)) }
    let (manager, _) = try replaying()
    for name in ["b", "a"] { #expect(try await manager.send(probe(name)).name == name) }
    let error = await #expect(throws: ReplaySession.UnexpectedRequest.self) { try await manager.send(probe("c")) }
    #expect(error?.reason == .otherBody)
  }

  @Test func tokenGetsItsOwnResponse() async throws {
    server.route("/me") { .json(Item(id: 0, name: $0.headers["Authorization"] ?? "")) }
    for token in ["a", "b"] { _ = try await recording.send(ItemProbe(path: "/me")) { token } }
    let (manager, _) = try replaying()
    for token in ["b", "a"] {
      #expect(try await manager.send(ItemProbe(path: "/me")) { token }.name == "Bearer \(token)")
    }
    let error = await #expect(throws: ReplaySession.UnexpectedRequest.self) {
      try await manager.send(ItemProbe(path: "/me")) { "c" }
    }
    #expect(error?.reason == .otherCredentials)
  }

  @Test func tokenRefreshReplaysWithNewTokens() async throws {
    server.route("/me") {
      $0.headers["Authorization"] == "Bearer old" ? .status(401) : .json(Item(id: 0, name: "new"))
    }
    let tokens = TestTokens("old")
    let manager = recording
    manager.tokenRefresher = tokens
    _ = try await manager.send(ItemProbe(path: "/me")) { tokens.current }
    let (replay, session) = try replaying()
    let others = TestTokens("first") { _ in "second" }
    replay.tokenRefresher = others
    #expect(try await replay.send(ItemProbe(path: "/me")) { others.current }.name == "new")
    #expect(others.count == 1 && session.unusedRequests.isEmpty)
  }

  // MARK: - Concurrency

  @Test(.timeLimit(.minutes(5)))
  func concurrentRequestsGetTheirOwnResponses() async throws {
    let ids = 0..<300
    let manager = recording
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in ids { group.addTask { _ = try await manager.send(probe(id)) } }
      try await group.waitForAll()
    }
    let (replay, session) = try replaying()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in ids {
        group.addTask {
          let item = try await replay.send(probe(id))
          #expect(item == Item(id: id))
        }
      }
      try await group.waitForAll()
    }
    #expect(session.unusedRequests.isEmpty && server.requestCount == 0)
  }

  @Test func sessionsReplayIndependently() async throws {
    _ = try await recording.send(probe(1))
    for _ in 0..<2 { #expect(try await replaying().manager.send(probe(1)) == Item(id: 1)) }
  }
}
