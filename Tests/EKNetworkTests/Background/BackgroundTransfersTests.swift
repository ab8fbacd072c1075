import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private struct FilmRequest: NetworkRequest {
  typealias Response = EmptyResponse
  var path = "/film"
  var method = HTTPMethod.get
  var headers: [String: String]?
  var body: RequestBody?
  var multipartData: MultipartFormData?
  var targetURL: URL?
  var acceptedStatuses = StatusCodes.successful
  var credential: PasswordCredential?
  var totalTimeout: Duration?
  var maximumResponseSize: Int64?
  var redirectPolicy = RedirectPolicy.follow
  var onInterimResponse: (@Sendable (InterimResponse) -> Void)?
}

/// A session whose cookies the system adds when it sends a request.
private struct SystemTransport: Transport {
  let sessionSettings: SessionSettings
  var resolvesRedirects: Bool { false }
  var resourceTimeout: Duration? { nil }
  func start(_ request: TransportRequest) async throws -> TransportResponse { throw URLError(.unknown) }
}

struct BackgroundTransfersTests {
  private let home: ScratchFolder
  private let server: LoopbackServer
  private let system = StandInTasks()
  private let content = Data.noise(200_000)

  init() throws {
    home = try ScratchFolder()
    server = try LoopbackServer()
    server.route("/film", .data(content))
  }

  /// A run of the app.
  private func run(home: URL? = nil) -> (BackgroundTransfers, BackgroundCenter) {
    let center = BackgroundCenter(places: BackgroundPlaces(home: (home ?? self.home.url).path), identifier: "films") {
      system.serve($0)
    }
    let manager = Wire.automatic.manager(server) {
      $0.httpAdditionalHeaders = ["X-App": "1", "Authorization": "session"]
    }
    return (BackgroundTransfers(manager: manager, center: center), center)
  }

  private func end(of transfers: BackgroundTransfers) async -> BackgroundTransferEvent? {
    await transfers.events.first { if case .progress = $0 { false } else { true } }
  }

  private var spooled: [String] {
    let folder = BackgroundPlaces(home: home.url.path).spoolFolder(of: "films")
    return (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
  }

  // MARK: Downloads

  @Test func downloadArrivesInALaterRun() async throws {
    let (first, _) = run()
    let started = try await first.download(FilmRequest(), to: home["a.mp4"], id: "film", accessToken: { "secret" })
    #expect(started == BackgroundTransfer(id: "film", destination: home["a.mp4"]))
    #expect(server.requests.isEmpty)

    let (second, center) = run()
    let found = BackgroundTransfer(id: "film", destination: home["a.mp4"], completedBytes: 3, totalBytes: 9)
    #expect(await second.transfers == [found])
    #expect(try await second.download(FilmRequest(), to: home["a.mp4"], id: "film") == found)
    try await system.perform(for: center)
    guard case .finished(let end, let response)? = await second.events.first(where: { _ in true }) else {
      return anotherEvent()
    }
    #expect(
      end == BackgroundTransfer(id: "film", destination: home["a.mp4"], completedBytes: 200_000, totalBytes: 200_000))
    #expect(response.statusCode == 200)
    #expect(try Data(contentsOf: home["a.mp4"]) == content)
    #expect(await second.transfers.isEmpty)
    let sent = try #require(server.requests.first)
    #expect(server.requests.count == 1)
    #expect(sent.headers["Authorization"] == "Bearer secret")
    #expect(sent.headers["X-App"] == "1")
    #expect(sent.headers["Accept"] == "*/*")
  }

  @Test func destinationFollowsTheHomeDirectory() async throws {
    let moved = try ScratchFolder()
    try await run().0.download(FilmRequest(), to: home["a.mp4"], id: "film")
    let (transfers, center) = run(home: moved.url)
    try await system.perform(for: center)
    #expect(await end(of: transfers)?.transfer.destination == moved["a.mp4"])
    #expect(moved.names == ["a.mp4"])
    #expect(home.names.isEmpty)
  }

  @Test(arguments: [401, 404, 503]) func errorStatusIsNoFile(_ status: Int) async throws {
    server.route("/film", .text("why", status: status))
    let (transfers, center) = run()
    try await transfers.download(FilmRequest(acceptedStatuses: .any), to: home["a.mp4"], id: "film")
    try await system.perform(for: center)
    guard case .failed(_, let error as HTTPError, resumeData: nil)? = await end(of: transfers) else {
      return anotherEvent()
    }
    #expect(error.statusCode == status)
    #expect(error.data == Data("why".utf8))
    #expect(home.names.isEmpty)
  }

  @Test(arguments: [
    ("kCFErrorDomainCFNetwork", 303, URLError.Code.badServerResponse), (NSPOSIXErrorDomain, 32, .networkConnectionLost),
  ])
  func errorOfTheSystemIsAURLError(_ domain: String, _ number: Int, _ code: URLError.Code) async throws {
    let (transfers, center) = run()
    let text = try BackgroundRecord(id: "film", destination: home["a.mp4"], in: center.places).text
    let task = BackgroundTaskStatus(identifier: 1, text: text, completedBytes: 0, totalBytes: 0)
    center.completed(task, nil, NSError(domain: domain, code: number), resumeData: Data("rest".utf8))
    guard case .failed(_, let error as URLError, let rest)? = await end(of: transfers) else { return anotherEvent() }
    #expect(error.code == code)
    #expect(rest == Data("rest".utf8))
  }

  @Test func fileIsReplacedOnRequestOnly() async throws {
    let old = try home.file("a.mp4", Data("old".utf8))
    let (transfers, center) = run()
    await #expect(throws: DownloadError.fileExists(old)) {
      try await transfers.download(FilmRequest(), to: old, id: "1")
    }
    try await transfers.download(FilmRequest(), to: home["b.mp4"], id: "2")
    try home.file("b.mp4", Data("newer".utf8))
    try await system.perform(for: center)
    guard case .failed(_, let error as DownloadError, _)? = await end(of: transfers) else {
      return anotherEvent()
    }
    #expect(error == .fileExists(home["b.mp4"]))
    #expect(try Data(contentsOf: home["b.mp4"]) == Data("newer".utf8))
    try await transfers.download(FilmRequest(), to: old, id: "3", replacesFile: true)
    try await system.perform(for: center)
    guard case .finished? = await end(of: transfers) else { return anotherEvent() }
    #expect(try Data(contentsOf: old) == content)
    #expect(home.names == ["a.mp4", "b.mp4"])
  }

  @Test func destinationIsCheckedBeforeAnythingIsSent() async throws {
    let (transfers, _) = run()
    let remote = server.url("/a")
    await #expect(throws: DownloadError.notAFileURL(remote)) {
      try await transfers.download(FilmRequest(), to: remote, id: "film")
    }
    let folder = home["none"]
    await #expect(throws: DownloadError.self) {
      try await transfers.download(FilmRequest(), to: folder.appendingPathComponent("a"), id: "film")
    }
    #expect(system.jobs.withLock { $0.isEmpty })
    // The id is free again.
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    #expect(system.jobs.withLock { $0.count } == 1)
  }

  @Test func resumeDataOfAFailureContinuesIt() async throws {
    server.route("/film", .raw([.close]))
    let (transfers, center) = run()
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    try await system.perform(for: center)
    guard case .failed(_, let error, let resumeData?)? = await end(of: transfers) else {
      return anotherEvent()
    }
    #expect(error is URLError)
    try await transfers.download(FilmRequest(), to: home["a"], id: "film", resumeData: resumeData)
    #expect(system.jobs.withLock { $0.first?.resumeData } == Data("rest".utf8))
  }

  @Test func cancelledTransfersAreForgotten() async throws {
    let (transfers, _) = run()
    for id in ["1", "2", "3"] { try await transfers.download(FilmRequest(), to: home[id], id: id) }
    await transfers.cancel(id: "2")
    #expect(await transfers.transfers.map(\.id) == ["1", "3"])
    await transfers.cancelAll()
    #expect(await transfers.transfers.isEmpty)
  }

  @Test func anotherTransferFollowsACancelledOne() async throws {
    let (transfers, center) = run()
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    await transfers.cancel(id: "film")
    try await transfers.download(FilmRequest(headers: ["X-A": "2"]), to: home["a"], id: "film")
    guard case .failed(_, let error as URLError, _)? = await end(of: transfers) else { return anotherEvent() }
    #expect(error.code == .cancelled)
    // The system may still list the first one.
    while system.jobs.withLock({ $0.count }) > 1 { await Task.yield() }
    try await system.perform(for: center)
    guard case .finished? = await end(of: transfers) else { return anotherEvent() }
    #expect(server.requests.map { $0.headers["X-A"] } == ["2"])
    #expect(home.names == ["a"])
  }

  @Test func nothingIsWaitedForWithoutATransfer() async throws {
    let (transfers, center) = run()
    await transfers.cancel(id: "film")
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    try await system.perform(for: center)
    await transfers.cancelAll()
    guard case .finished? = await end(of: transfers) else { return anotherEvent() }
  }

  // MARK: Uploads

  @Test func fileIsUploaded() async throws {
    server.route("POST", "/film", .text("stored", status: 202))
    let file = try home.file("a.mp4", content)
    let (transfers, center) = run()
    try await transfers.upload(FilmRequest(method: .post), fromFile: file, id: "film")
    #expect(system.jobs.withLock { $0.first?.file } == file)
    try await system.perform(for: center)
    guard case .finished(let end, let response)? = await end(of: transfers) else {
      return anotherEvent()
    }
    #expect(end.id == "film")
    #expect(end.destination == nil)
    #expect(response.statusCode == 202)
    #expect(response.data == Data("stored".utf8))
    #expect(server.requests.first?.body == content)
    #expect(home.names == ["a.mp4"])
  }

  @Test func bodyInMemoryIsWrittenToAFileUntilItsEnd() async throws {
    let bodies = [
      FilmRequest(method: .post, body: RequestBody(encodable: ["a": 1])),
      FilmRequest(method: .put, body: RequestBody(data: content, contentType: "video/mp4")),
      FilmRequest(method: .post, multipartData: try form()),
    ]
    let (transfers, center) = run()
    for (index, request) in bodies.enumerated() {
      try await transfers.upload(request, id: "\(index)")
      #expect(spooled.count == 1)
      try await system.perform(for: center)
      guard case .finished? = await end(of: transfers) else { return anotherEvent() }
      #expect(spooled.isEmpty)
    }
    let received = server.requests
    #expect(received[0].body == Data("{\"a\":1}".utf8))
    #expect(received[0].headers["Content-Type"] == "application/json")
    #expect(received[1].body == content)
    #expect(received[1].headers["Content-Type"] == "video/mp4")
    #expect(received[2].body.range(of: content) != nil)
  }

  private func form() throws -> MultipartFormData {
    var form = MultipartFormData()
    form.addPart(name: "film", fileURL: try home.file("part.mp4", content), mimeType: "video/mp4")
    return form
  }

  @Test func bodyThatIsAFileIsNotCopied() async throws {
    let file = try home.file("a.mp4", content)
    let (transfers, _) = run()
    try await transfers.upload(
      FilmRequest(method: .post, body: RequestBody(file: file, contentType: "video/mp4")), id: "film")
    #expect(system.jobs.withLock { $0.first?.file } == file)
    #expect(spooled.isEmpty)
  }

  @Test func refusedTransferLeavesNoFile() async throws {
    system.accepts.withLock { $0 = false }
    let (transfers, _) = run()
    let request = FilmRequest(method: .post, body: RequestBody(data: content, contentType: "video/mp4"))
    await #expect(throws: URLError.self) { try await transfers.upload(request, id: "film") }
    #expect(spooled.isEmpty)
    system.accepts.withLock { $0 = true }
    try await transfers.upload(request, id: "film")
    #expect(spooled.count == 1)
  }

  @Test func statusOfAnUploadIsThatOfTheRequest() async throws {
    server.route("/film", .text("no", status: 409))
    let file = try home.file("a", content)
    let (transfers, center) = run()
    try await transfers.upload(FilmRequest(method: .post), fromFile: file, id: "1")
    try await system.perform(for: center)
    guard case .failed(_, let error as HTTPError, _)? = await end(of: transfers) else {
      return anotherEvent()
    }
    #expect(error.statusCode == 409)
    #expect(error.data == Data("no".utf8))
    try await transfers.upload(FilmRequest(method: .post, acceptedStatuses: [200, 409]), fromFile: file, id: "2")
    try await system.perform(for: center)
    guard case .finished(_, let response)? = await end(of: transfers) else { return anotherEvent() }
    #expect(response.statusCode == 409)
  }

  // MARK: What is refused

  @Test func whatABackgroundSessionCannotDoIsRefused() async throws {
    let (transfers, _) = run()
    let stream = RequestBody(stream: InputStream(data: content), contentType: "video/mp4")
    let pieces = RequestBody(sequence: AsyncStream<Data> { $0.finish() }, contentType: "video/mp4")
    let trailers = RequestBody(
      sequence: AsyncStream<Data> { $0.finish() }, contentType: "video/mp4", trailers: { HeaderFieldList() })
    let requests = [
      FilmRequest(credential: PasswordCredential(user: "a", password: "b")), FilmRequest(totalTimeout: .seconds(1)),
      FilmRequest(maximumResponseSize: 1), FilmRequest(redirectPolicy: .reject),
      FilmRequest(onInterimResponse: { _ in }),
      FilmRequest(method: .post, body: stream), FilmRequest(method: .post, body: pieces),
      FilmRequest(method: .post, body: trailers),
    ]
    for request in requests {
      await #expect(throws: TransportOptionError.self) { try await transfers.download(request, to: home["a"], id: "1") }
      await #expect(throws: TransportOptionError.self) { try await transfers.upload(request, id: "1") }
    }
    let file = try home.file("b", content)
    await #expect(throws: URLError.self) { try await transfers.upload(FilmRequest(), fromFile: file, id: "1") }
    await #expect(throws: NetworkError.conflictingBodyTypes) {
      try await transfers.upload(
        FilmRequest(method: .post, body: RequestBody(encodable: 1)), fromFile: file, id: "1")
    }
    await #expect(throws: RequestBodyError.fileNotFound(home["c"])) {
      try await transfers.upload(FilmRequest(method: .post), fromFile: home["c"], id: "1")
    }
    #expect(system.jobs.withLock { $0.isEmpty })
  }

  @Test func managerThatTrustsOthersIsRefused() async throws {
    let manager = NetworkManager(
      baseURL: server.baseURL, session: URLSession(configuration: .ephemeral),
      transport: .secured(by: TLSOptions(pinnedPublicKeys: [Data(count: 32).base64EncodedString()])))
    let transfers = BackgroundTransfers(manager: manager, center: run().1)
    await #expect(throws: TransportOptionError.self) {
      try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    }
    #expect(system.jobs.withLock { $0.isEmpty })
  }

  @Test func otherOriginReceivesNoCredentials() async throws {
    let other = try LoopbackServer()
    other.route("/film", .data(content))
    let (transfers, center) = run()
    try await transfers.download(
      FilmRequest(targetURL: other.url("/film")), to: home["a"], id: "film", accessToken: { "secret" })
    try await system.perform(for: center)
    #expect(other.requests.first?.headers["Authorization"] == nil)
    #expect(other.requests.first?.headers["X-App"] == "1")
    other.stop()
  }

  @Test func managerWithProxiesOfItsOwnIsRefused() async throws {
    let manager = Wire.automatic.manager(server) {
      $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 1]
    }
    let transfers = BackgroundTransfers(manager: manager, center: run().1)
    await #expect(throws: TransportOptionError.self) {
      try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    }
    #expect(system.jobs.withLock { $0.isEmpty })
  }

  @Test(arguments: [true, false]) func cookiesAreThoseOfTheManagersSession(hasStorage: Bool) async throws {
    let configuration = URLSessionConfiguration.ephemeral
    let cookie = HTTPCookie(properties: [.name: "sid", .value: "secret", .domain: "127.0.0.1", .path: "/"])
    configuration.httpCookieStorage?.setCookie(try #require(cookie))
    if !hasStorage { configuration.httpCookieStorage = nil }
    let settings = SessionSettings(configuration, systemSendsCookies: true)
    let url = server.baseURL
    let manager = NetworkManager(baseURL: { url }, transport: SystemTransport(sessionSettings: settings))
    let transfers = BackgroundTransfers(manager: manager, center: run().1)
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    let sent = try #require(system.jobs.withLock { $0.first?.request })
    #expect(sent.value(forHTTPHeaderField: "Cookie") == (hasStorage ? "sid=secret" : nil))
  }

  @Test func passwordOfTheURLIsInAuthorizationOnly() async throws {
    let url = try #require(URL(string: "http://alice:secret@127.0.0.1:\(server.port)"))
    let transfers = BackgroundTransfers(manager: Wire.automatic.manager(url), center: run().1)
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    let sent = try #require(system.jobs.withLock { $0.first?.request })
    #expect(sent.url?.absoluteString == "http://127.0.0.1:\(server.port)/film")
    #expect(sent.value(forHTTPHeaderField: "Authorization") == "Basic YWxpY2U6c2VjcmV0")
  }

  #if os(Linux)
    @MainActor @Test func linuxHasNoSuchTransfers() async throws {
      let transfers = BackgroundTransfers(identifier: "test", manager: Wire.automatic.manager(server))
      await #expect(throws: TransportOptionError.self) {
        try await transfers.download(FilmRequest(), to: home["a"], id: "film")
      }
      #expect(await transfers.transfers.isEmpty)
      await transfers.cancelAll()
      await withCheckedContinuation { continuation in transfers.handleEvents { continuation.resume() } }
    }
  #endif

  // MARK: Waking up

  @MainActor @Test func handlerIsCalledOnceFilesAreInPlace() async throws {
    let (transfers, center) = run()
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    let calls = Locked(0)
    await withCheckedContinuation { continuation in
      transfers.handleEvents {
        MainActor.assertIsolated()
        calls.withLock { $0 += 1 }
        continuation.resume()
      }
      Task {
        try await system.perform(for: center)
        #expect(calls.withLock { $0 } == 0)
        center.finishedEvents()
        center.finishedEvents()
      }
    }
    #expect(home.names == ["a"])
    #expect(calls.withLock { $0 } == 1)
  }

  @Test func readerThatWaitsReceivesTheEvents() async throws {
    let (transfers, center) = run()
    async let last = end(of: transfers)
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    try await system.perform(for: center)
    guard case .finished? = await last else { return anotherEvent() }
  }

  @Test func cancelledReaderOfEventsEnds() async throws {
    let (transfers, center) = run()
    let reader = Task { for await _ in transfers.events {} }
    reader.cancel()
    await reader.value
    // What comes afterwards waits for the next one.
    try await transfers.download(FilmRequest(), to: home["a"], id: "film")
    try await system.perform(for: center)
    guard case .finished? = await end(of: transfers) else { return anotherEvent() }
  }
}
