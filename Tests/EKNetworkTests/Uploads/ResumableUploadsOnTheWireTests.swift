import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct ResumableUploadsOnTheWireTests {
  typealias Kind = UploadOptions.ResumptionProtocol

  private let folder: ScratchFolder
  private let content = Data.noise(300_000)
  private let file: URL
  private var stateFile: URL { folder["state"] }

  init() throws {
    folder = try ScratchFolder()
    file = try folder.file("a.bin", content)
  }

  private func options(_ kind: Kind, chunk: Int64? = nil, account: String? = nil) -> UploadOptions {
    UploadOptions(using: kind, state: stateFile, chunkSize: chunk, account: account)
  }

  @Test(arguments: Wire.allCases, Kind.allCases)
  func fileIsUploadedCompletely(_ wire: Wire, kind: Kind) async throws {
    for size in [0, 1, 300_000] {
      for chunk in [nil, 100_000 as Int64?] {
        let server = try UploadServer(kind)
        let file = try folder.file("b.bin", content.prefix(size))
        let progress = NetworkProgress()
        let result = try await wire.manager(server.server).upload(
          CreateUpload(progress: progress), fromFile: file, options: options(kind, chunk: chunk))
        #expect(server.data == content.prefix(size))
        #expect(server.isComplete)
        #expect(server.received == size)
        #expect(result.size == Int64(size))
        #expect(result.resumedBytes == 0)
        #expect(result.url == server.server.url("/files/1"))
        #expect(result.response.data == (kind == .draft ? Data(#"{"id":42}"#.utf8) : Data()))
        #expect(progress.fractionCompleted == 1)
        #expect(progress.completedBytes == Int64(size))
        #expect(!server.methods.contains("HEAD"))
        #expect(folder.names == ["a.bin", "b.bin"])
      }
    }
  }

  /// With a policy of one retry: attempts that advance the offset do not count.
  @Test(arguments: Wire.allCases, Kind.allCases)
  func everyByteArrivesOnceOverTwentyLostConnections(_ wire: Wire, kind: Kind) async throws {
    let server = try UploadServer(kind)
    let content = Data.noise(3_000_000)
    let file = try folder.file("b.bin", content)
    server.state.withLock { $0.cuts = Array(repeating: 100_000, count: 20) }
    let result = try await wire.manager(server.server).upload(
      CreateUpload(retryPolicy: .immediate(1)), fromFile: file, options: options(kind))
    #expect(server.data == content)
    #expect(server.received == content.count)
    #expect(result.resumedBytes == 0)
    #expect(server.methods.count { $0 == "POST" } == 1)
    #expect(server.methods.count { $0 == "PATCH" } == 21)
    #expect(server.methods.count { $0 == "HEAD" } == 20)
  }

  @Test(arguments: Kind.allCases)
  func withoutRetriesTheErrorIsThrown(_ kind: Kind) async throws {
    let server = try UploadServer(kind)
    server.state.withLock { $0.cuts = [1_000] }
    await #expect(throws: URLError.self) {
      try await Wire.automatic.manager(server.server).upload(CreateUpload(), fromFile: file, options: options(kind))
    }
    #expect(server.methods == ["POST", "PATCH"])
  }

  /// Ten failures of the server in succession are more than the policy allows.
  @Test(arguments: Kind.allCases)
  func attemptsWithoutProgressCount(_ kind: Kind) async throws {
    let server = try UploadServer(kind)
    server.state.withLock { $0.override = { $0.method == "PATCH" ? .status(503) : nil } }
    let error = await #expect(throws: HTTPError.self) {
      try await Wire.automatic.manager(server.server).upload(
        CreateUpload(retryPolicy: .immediate(3)), fromFile: file, options: options(kind))
    }
    #expect(error?.statusCode == 503)
    #expect(server.methods.count { $0 == "PATCH" } == 4)
  }

  // MARK: - A later run

  @Test(arguments: Wire.allCases, Kind.allCases)
  func laterRunContinues(_ wire: Wire, kind: Kind) async throws {
    let server = try UploadServer(kind)
    server.state.withLock { $0.cuts = [200_000] }
    await #expect(throws: URLError.self) {
      try await wire.manager(server.server).upload(
        CreateUpload(), fromFile: file, accessToken: { "t" }, options: options(kind))
    }
    let mode = try FileManager.default.attributesOfItem(atPath: stateFile.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try !String(contentsOf: stateFile, encoding: .utf8).contains("\"t\""))
    let progress = NetworkProgress()
    let result = try await wire.manager(server.server).upload(
      CreateUpload(progress: progress), fromFile: file, accessToken: { "t" }, options: options(kind))
    // Foundation's implementation on Linux sends a part in chunks, whose framing counts here.
    #expect((199_000...200_000).contains(result.resumedBytes))
    #expect(server.data == content)
    #expect(server.received == content.count)
    #expect(server.methods == ["POST", "PATCH", "HEAD", "PATCH"])
    #expect(server.server.requests.allSatisfy { $0.headers["Authorization"] == "Bearer t" })
    #expect(progress.completedBytes == 300_000)
    #expect(folder.names == ["a.bin"])
  }

  /// The final response was lost: nothing is sent again.
  @Test(arguments: Kind.allCases)
  func completedUploadIsNotRepeated(_ kind: Kind) async throws {
    let server = try UploadServer(kind)
    let isFirst = Locked(true)
    let state = server.state
    state.withLock {
      $0.override = { request in
        guard request.method == "PATCH", isFirst.withLock({ $0 }) else { return nil }
        isFirst.withLock { $0 = false }
        _ = state.withLock { $0.respond(request, kind) }
        return .raw([.close])
      }
    }
    let result = try await Wire.automatic.manager(server.server).upload(
      CreateUpload(retryPolicy: .immediate(1)), fromFile: file, options: options(kind))
    #expect(result.response.isSuccess)
    #expect(server.methods == ["POST", "PATCH", "HEAD"])
    #expect(server.received == content.count)
  }

  enum Change: CaseIterable { case token, path, file, kind, header }

  /// The state of one upload is not that of another.
  @Test(arguments: Change.allCases)
  func stateIsUsedForItsOwnUploadOnly(_ change: Change) async throws {
    let server = try UploadServer(.tus)
    server.server.route("/files/other") { [weak server] request in
      server?.state.withLock { $0.respond(request, .tus) } ?? .status(500)
    }
    server.state.withLock { $0.cuts = [200_000] }
    let manager = Wire.automatic.manager(server.server)
    await #expect(throws: URLError.self) {
      try await manager.upload(CreateUpload(), fromFile: file, accessToken: { "a" }, options: options(.tus))
    }
    var request = CreateUpload()
    if change == .path { request.path = "/files/other" }
    if change == .header { request.headers = ["X-Tenant": "b"] }
    if change == .file { try content.write(to: file) }
    if change == .kind {
      server.state.withLock { state in state.override = { state in state.method == "POST" ? .status(418) : nil } }
      await #expect(throws: HTTPError.self) {
        try await manager.upload(request, fromFile: file, accessToken: { "a" }, options: options(.draft))
      }
      #expect(server.methods == ["POST", "PATCH", "POST"])
      return
    }
    let result = try await manager.upload(
      request, fromFile: file, accessToken: { change == .token ? "b" : "a" }, options: options(.tus))
    #expect(result.resumedBytes == 0)
    #expect(server.data == content)
    #expect(server.methods == ["POST", "PATCH", "POST", "PATCH"])
  }

  @Test func accountIdentifiesTheUserInsteadOfTheToken() async throws {
    let server = try UploadServer(.tus)
    server.state.withLock { $0.cuts = [200_000, 1_000] }
    let manager = Wire.automatic.manager(server.server)
    for (token, account) in [("a", "x"), ("b", "x")] {
      await #expect(throws: URLError.self) {
        try await manager.upload(
          CreateUpload(), fromFile: file, accessToken: { token }, options: options(.tus, account: account))
      }
    }
    #expect(server.methods == ["POST", "PATCH", "HEAD", "PATCH"])
    let result = try await manager.upload(
      CreateUpload(), fromFile: file, accessToken: { "b" }, options: options(.tus, account: "y"))
    #expect(result.resumedBytes == 0)
    #expect(server.methods.count { $0 == "POST" } == 2)
  }

  // MARK: - The file

  @Test(arguments: Kind.allCases)
  func fileThatChangesMeanwhileIsNotMixed(_ kind: Kind) async throws {
    let server = try UploadServer(kind)
    let other = Data(content.reversed())
    let (file, isFirst) = (file, Locked(true))
    server.state.withLock {
      $0.override = { request in
        guard request.method == "PATCH", isFirst.withLock({ $0 }) else { return nil }
        isFirst.withLock { $0 = false }
        try? other.write(to: file)
        return nil
      }
    }
    let manager = Wire.automatic.manager(server.server)
    await #expect(throws: RequestBodyError.self) {
      try await manager.upload(
        CreateUpload(retryPolicy: .immediate(3)), fromFile: file, options: options(kind, chunk: 100_000))
    }
    #expect(server.data == content.prefix(100_000))
    let result = try await manager.upload(CreateUpload(), fromFile: file, options: options(kind))
    #expect(result.resumedBytes == 0)
    #expect(server.data == other)
  }

  @Test func missingFileAndBodyAreRefusedBeforeAnythingIsSent() async throws {
    let server = try UploadServer(.tus)
    let manager = Wire.automatic.manager(server.server)
    await #expect(throws: RequestBodyError.fileNotFound(folder["none"])) {
      try await manager.upload(CreateUpload(), fromFile: folder["none"], options: options(.tus))
    }
    await #expect(throws: NetworkError.conflictingBodyTypes) {
      try await manager.upload(
        CreateUpload(body: RequestBody(data: Data(), contentType: "a/b")), fromFile: file, options: options(.tus))
    }
    let named = UploadOptions(using: .tus, metadata: ["a b": "c"])
    await #expect(throws: UploadError.invalidMetadata(name: "a b")) {
      try await manager.upload(CreateUpload(), fromFile: file, options: named)
    }
    #expect(server.methods == [])
    #expect(folder.names == ["a.bin"])
  }

  @Test func fieldsOfTheFileAreOnlySentWithTheCreation() async throws {
    let server = try UploadServer(.tus)
    let headers = ["Content-Type": "video/mp4", "Idempotency-Key": "k", "X-Own": "o"]
    let options = UploadOptions(using: .tus, metadata: ["filename": "ä.bin", "empty": ""])
    try await Wire.automatic.manager(server.server).upload(
      CreateUpload(headers: headers), fromFile: file, options: options)
    let requests = server.server.requests
    #expect(requests[0].headers["Content-Type"] == "video/mp4")
    #expect(requests[0].headers["Idempotency-Key"] == "k")
    #expect(requests[0].headers["Upload-Metadata"] == "empty,filename w6QuYmlu")
    #expect(requests[1].headers["Content-Type"] == "application/offset+octet-stream")
    #expect(requests[1].headers["Idempotency-Key"] == nil)
    #expect(requests[1].headers["Upload-Metadata"] == nil)
    #expect(requests[1].headers["X-Own"] == "o")
    #expect(requests[1].headers["Accept"] == "*/*")
  }

  // MARK: - Cancellation

  @Test(arguments: Wire.allCases, Kind.allCases)
  func cancelledUploadIsContinuedLater(_ wire: Wire, kind: Kind) async throws {
    let server = try UploadServer(kind)
    let (isThere, isCancelled) = (Gate(), Gate())
    server.server.route(
      "PATCH", "/files/1", onHead: { _ in .steps([.read(total: 100_000), .open(isThere), .wait(isCancelled), .close]) }
    ) {
      _ in
      .status(500)
    }
    let manager = wire.manager(server.server)
    let (file, options) = (file, options(kind))
    let task = Task {
      try await manager.upload(CreateUpload(retryPolicy: .immediate(9)), fromFile: file, options: options)
    }
    #expect(await isThere.wait())
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    isCancelled.open()
    await server.server.expectRequests(2)
    server.server.route("PATCH", "/files/1") { [weak server] request in
      server?.state.withLock { $0.respond(request, kind) } ?? .status(500)
    }
    let result = try await manager.upload(CreateUpload(), fromFile: file, options: options)
    #expect((99_000...100_000).contains(result.resumedBytes))
    #expect(server.data == content)
    #expect(server.received == content.count)
  }

  @Test(arguments: Kind.allCases)
  func cancelledUploadIsRemovedFromTheServer(_ kind: Kind) async throws {
    let server = try UploadServer(kind)
    let manager = Wire.automatic.manager(server.server)
    #expect(try await !manager.cancelUpload(CreateUpload(), options: options(kind)))
    server.state.withLock { $0.cuts = [1_000] }
    await #expect(throws: URLError.self) {
      try await manager.upload(CreateUpload(), fromFile: file, options: options(kind))
    }
    // Another user's is not touched.
    #expect(try await !manager.cancelUpload(CreateUpload(), accessToken: { "b" }, options: options(kind)))
    #expect(folder.names == ["a.bin", "state"])
    let timings = Locked<[NetworkTimings]>([])
    manager.eventHandler = { event in
      if case .finished(_, _, let measured) = event.kind { timings.withLock { $0.append(measured) } }
    }
    #expect(try await manager.cancelUpload(CreateUpload(), options: options(kind)))
    #if os(Linux)
      #expect(timings.withLock { $0 }.map(\.protocolName) == ["HTTP/1.1"])
    #endif
    #expect(server.state.withLock { $0.uploads.isEmpty })
    #expect(server.methods == ["POST", "PATCH", "DELETE"])
    #expect(folder.names == ["a.bin"])
  }

  /// What is repeated is the DELETE, not the POST of the creation.
  @Test func removalIsRepeatedLikeAnyDELETE() async throws {
    let server = try UploadServer(.tus)
    let manager = Wire.automatic.manager(server.server, clock: RecordingClock())
    server.state.withLock { $0.cuts = [1_000] }
    await #expect(throws: URLError.self) {
      try await manager.upload(CreateUpload(), fromFile: file, options: options(.tus))
    }
    server.server.route("DELETE", "/files/1", .status(500), .status(204, headers: ["Tus-Resumable": "1.0.0"]))
    let request = CreateUpload(retryPolicy: .transientFailures)
    #expect(try await manager.cancelUpload(request, options: options(.tus)))
    #expect(server.server.requests.filter { $0.method == "DELETE" }.count == 2)
  }

  /// The draft completes an upload with a part of its own, which is empty if there is nothing else to send.
  @Test(arguments: [0, 10]) func uploadOfWhichNothingWasSentIsNotComplete(_ size: Int) async throws {
    let server = try UploadServer(.draft)
    let port = try LoopbackServer.RefusingPort()
    let location = "http://127.0.0.1:\(port.port)/files/1"
    server.state.withLock { state in state.override = { _ in .status(201, headers: ["Location": location]) } }
    let file = try folder.file("b.bin", content.prefix(size))
    let error = await #expect(throws: URLError.self) {
      try await Wire.automatic.manager(server.server).upload(
        CreateUpload(), fromFile: file, options: options(.draft))
    }
    #expect(error?.code == .cannotConnectToHost)
    let record = try #require(try UploadRecordFile(stateFile).record)
    #expect(record.resource?.url.absoluteString == location)
    #expect(record.mayBeComplete == nil)
    withExtendedLifetime(port) {}
  }

  // MARK: - Other origins

  @Test(arguments: Wire.allCases, [true, false])
  func otherOriginGetsNoCredentials(_ wire: Wire, isLaterRun: Bool) async throws {
    let other = try UploadServer(.tus)
    let server = try LoopbackServer()
    defer { server.stop() }
    other.state.withLock {
      $0.created = 1
      $0.uploads["1"] = UploadServer.Upload(length: 300_000)
      $0.cuts = [1_000]
    }
    let location = other.server.url("/files/1").absoluteString
    server.route("/files", .status(201, headers: ["Location": location]))
    func manager() -> NetworkManager {
      wire.manager(server) { $0.httpAdditionalHeaders = ["X-Api-Key": "k", "Cookie": "c=1"] }
    }
    let first = manager()
    let headers = ["X-Auth-Token": "s", "X-Own": "o"]
    func upload(_ manager: NetworkManager, retries: Int) async throws -> UploadedFile {
      try await manager.upload(
        CreateUpload(headers: headers, retryPolicy: .immediate(retries)), fromFile: file, accessToken: { "t" },
        options: options(.tus))
    }
    if isLaterRun {
      await #expect(throws: URLError.self) { try await upload(first, retries: 0) }
      _ = try await upload(manager(), retries: 0)
    } else {
      _ = try await upload(first, retries: 1)
    }
    #expect(server.requests.first?.headers["Authorization"] == "Bearer t")
    #expect(server.requests.first?.headers["X-Api-Key"] == "k")
    #expect(other.methods == ["PATCH", "HEAD", "PATCH"])
    for request in other.server.requests {
      for name in ["Authorization", "X-Api-Key", "Cookie", "X-Auth-Token"] { #expect(request.headers[name] == nil) }
      #expect(request.headers["X-Own"] == "o")
    }
    #expect(other.data == content)
  }

  @Test(arguments: Wire.allCases, Kind.allCases)
  func otherOriginGetsNoPassword(_ wire: Wire, _ kind: Kind) async throws {
    let other = try UploadServer(kind)
    let server = try LoopbackServer()
    defer { server.stop() }
    other.state.withLock {
      $0.override = { _ in .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]) }
    }
    let location = other.server.url("/files/1").absoluteString
    server.route("/files", .status(201, headers: ["Location": location]))
    await #expect(throws: NetworkError.unauthorized) {
      try await wire.manager(server).upload(
        CreateUpload(credential: PasswordCredential(user: "u", password: "p")), fromFile: file, options: options(kind))
    }
    #expect(!other.server.requests.isEmpty)
    #expect(other.server.requests.allSatisfy { $0.headers["Authorization"] == nil })
  }

  @Test(arguments: [(Wire.automatic, "Basic"), (.urlSession, "Basic"), (.automatic, "Digest")])
  func userOfTheURLIsAlsoThatOfTheUpload(_ wire: Wire, _ scheme: String) async throws {
    let server = try UploadServer(.tus)
    server.state.withLock {
      $0.override = { request in
        if request.headers["Authorization"]?.hasPrefix("\(scheme) ") == true { return nil }
        return .status(401, headers: ["WWW-Authenticate": "\(scheme) realm=\"r\", qop=\"auth\", nonce=\"n\""])
      }
    }
    let url = try #require(URL(string: server.server.baseURL.absoluteString.replacing("//", with: "//u:p@")))
    let result = try await wire.manager(url).upload(CreateUpload(), fromFile: file, options: options(.tus))
    #expect(server.data == content)
    #expect(result.url == server.server.url("/files/1"))
    #expect(server.methods == (scheme == "Basic" ? ["POST", "PATCH"] : ["POST", "POST", "PATCH"]))
  }

  @Test func renewedTokenIsSentAndTheUploadContinued() async throws {
    let server = try UploadServer(.tus)
    server.state.withLock {
      $0.override = { $0.headers["Authorization"] == "Bearer new" || $0.method == "POST" ? nil : .status(401) }
    }
    let manager = Wire.automatic.manager(server.server)
    let tokens = TestTokens("old")
    manager.tokenRefresher = tokens
    try await manager.upload(CreateUpload(), fromFile: file, accessToken: { tokens.current }, options: options(.tus))
    #expect(server.methods == ["POST", "PATCH", "HEAD", "PATCH"])
    #expect(server.data == content)
    #expect(tokens.count == 1)
  }

  // MARK: - Bodies

  @Test func endlessFinalBodyDoesNotFailTheUpload() async throws {
    let server = try UploadServer(.draft)
    server.state.withLock {
      $0.override = {
        guard $0.method == "PATCH" else { return nil }
        return .streaming(headers: ["Upload-Complete": "?1"], [.chunk(Data("{".utf8)), .stall])
      }
    }
    let result = try await Wire.automatic.manager(server.server, clock: RecordingClock()).upload(
      CreateUpload(), fromFile: file, options: options(.draft))
    #expect(result.response.data.isEmpty)
    #expect(result.response.statusCode == 200)
    #expect(folder.names == ["a.bin"])
  }
}
