import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// The rest of a download that an earlier call has left, from servers that do not simply send it.
struct DownloadRecoveryTests {
  private let folder: ScratchFolder
  private let content = Data.noise(300_000)
  private let file: RangeServer
  private let manager: NetworkManager
  private var server: LoopbackServer { file.server }
  private var target: URL { folder["a.bin"] }

  init() throws {
    folder = try ScratchFolder()
    file = try RangeServer(content)
    manager = Wire.automatic.manager(file.server)
  }

  /// Downloads the first 100,000 bytes.
  private func interrupt() async throws {
    file.state.withLock { $0.breaks = [100_000] }
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
  }

  private var ranges: [String?] { server.requests.map { $0.headers["Range"] } }

  /// Returns a part of at most `length` bytes, in a complete body; its field announces `announced`.
  private static func part(
    of content: Data, _ request: LoopbackServer.Request, length: Int, announced: Int? = nil
  ) -> LoopbackServer.Response {
    guard let first = request.headers["Range"].flatMap({ Int($0.dropFirst("bytes=".count).dropLast()) }) else {
      return .status(400)
    }
    let last = min(first + (announced ?? length), content.count) - 1
    return .data(Data(content.dropFirst(first).prefix(length)), status: 206)
      .header("ETag", "\"v1\"").header("Content-Range", "bytes \(first)-\(last)/\(content.count)")
  }

  /// The part would otherwise make every later call fail in the same way.
  @Test(arguments: [304, 412, 416]) func failedConditionRequestsTheWhole(_ status: Int) async throws {
    try await interrupt()
    server.route("/file") { [content] request in
      request.headers["Range"] == nil ? .data(content).header("ETag", "\"v2\"") : .status(status)
    }
    let result = try await manager.download(FileRequest(), to: target)
    #expect(result.statusCode == 200)
    #expect(result.resumedBytes == 0)
    #expect(try Data(contentsOf: target) == content)
    #expect(ranges == [nil, "bytes=100000-", nil])
    #expect(folder.names == ["a.bin"])
  }

  @Test(arguments: [304, 412, 416]) func conditionThatAlwaysFailsIsAnError(_ status: Int) async throws {
    try await interrupt()
    server.route("/file") { _ in .status(status) }
    let error = await #expect(throws: HTTPError.self) { try await manager.download(FileRequest(), to: target) }
    #expect(error?.statusCode == status)
    #expect(ranges == [nil, "bytes=100000-", nil])
    #expect(folder.names == [])
  }

  @Test(arguments: [true, false]) func partShorterThanItsRangeIsContinued(isRetried: Bool) async throws {
    try await interrupt()
    let parts = Locked(0)
    server.route("/file") { [content] request in
      let length = parts.withLock { $0.increment() } == 1 ? 50_000 : 200_000
      return Self.part(of: content, request, length: length, announced: 200_000)
    }
    if !isRetried {
      let error = await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
      #expect(error?.code == .networkConnectionLost)
    }
    let policy = RetryPolicy(maxRetryCount: isRetried ? 1 : 0, delay: 0)
    let result = try await manager.download(FileRequest(retryPolicy: policy), to: target)
    #expect(result.resumedBytes == (isRetried ? 100_000 : 150_000))
    #expect(try Data(contentsOf: target) == content)
    #expect(ranges == [nil, "bytes=100000-", "bytes=150000-"])
  }

  /// Each token is accepted for one part.
  @Test func tokenIsRenewedAsOftenAsItExpires() async throws {
    try await interrupt()
    let used = Locked<Set<String?>>([])
    server.route("/file") { [content] request in
      let isValid = used.withLock { $0.insert(request.headers["Authorization"]).inserted }
      return isValid ? Self.part(of: content, request, length: 50_000) : .status(401)
    }
    let tokens = TestTokens("0") { "\($0)" }
    manager.tokenRefresher = tokens
    let result = try await manager.download(FileRequest(), to: target, accessToken: { tokens.current })
    #expect(result.resumedBytes == 100_000)
    #expect(try Data(contentsOf: target) == content)
    #expect(tokens.count == 3)
    #expect(server.requests.count == 8)
  }

  /// A renewal that brings no valid token is not repeated without an end.
  @Test func tokenThatIsNotAcceptedIsNotRenewedAgain() async throws {
    try await interrupt()
    let parts = Locked(0)
    server.route("/file") { [content] request in
      parts.withLock { $0.increment() } == 1 ? Self.part(of: content, request, length: 50_000) : .status(401)
    }
    let tokens = TestTokens("0") { "\($0)" }
    manager.tokenRefresher = tokens
    await #expect(throws: NetworkError.unauthorized) {
      try await manager.download(FileRequest(), to: target, accessToken: { tokens.current })
    }
    #expect(tokens.count == 1)
    #expect(ranges == [nil, "bytes=100000-", "bytes=150000-", "bytes=150000-"])
    #expect(folder.names == [".a.bin.download", ".a.bin.download.json"])
  }

  /// Its process was killed before it got its name.
  @Test func sizeLimitCoversAFileThatIsCompleteAlready() async throws {
    try await interrupt()
    let partial = try FileHandle(forWritingTo: folder[".a.bin.download"])
    try partial.seekToEnd()
    try partial.write(contentsOf: content.dropFirst(100_000))
    try partial.close()
    await #expect(throws: ResponseLimitError.self) {
      try await manager.download(FileRequest(maximumResponseSize: 299_999), to: target)
    }
    #expect(ranges == [nil, "bytes=300000-"])
    #expect(folder.names == [])
  }

  /// The token is refreshed, the file breaks off where a redirect leads, and the token expires.
  @Test func rejectionByAnotherOriginIsNoneOfTheToken() async throws {
    let other = try LoopbackServer()
    let (own, elsewhere) = (Locked(0), Locked(0))
    server.route("/file") { _ in
      let isRejected = [1, 4].contains(own.withLock { $0.increment() })
      return isRejected ? .status(401) : .status(302, headers: ["Location": other.url("/file").absoluteString])
    }
    other.route("/file") { [content] request in
      let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 300000\r\n\r\n"
      switch elsewhere.withLock({ $0.increment() }) {
      case 1: return .raw([.sendString(head), .send(Data(content.prefix(100_000))), .close])
      case 2: return .status(401)
      default: return Self.part(of: content, request, length: 200_000)
      }
    }
    let tokens = TestTokens("0") { "\($0)" }
    manager.tokenRefresher = tokens
    let request = FileRequest(retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 0) { _ in true })
    let result = try await manager.download(request, to: target, accessToken: { tokens.current })
    #expect(result.size == 300_000)
    #expect(try Data(contentsOf: target) == content)
    #expect(server.requests.map { $0.headers["Authorization"]?.last } == ["0", "1", "1", "1", "2"])
    #expect(other.requests.map { $0.headers["Range"] } == [nil, "bytes=100000-", "bytes=100000-"])
    #expect(other.requests.allSatisfy { $0.headers["Authorization"] == nil })
  }

  /// It has digests of the URL and of the credentials.
  @Test func onlyItsUserCanReadTheNote() async throws {
    try await interrupt()
    var status = stat()
    #expect(stat(folder[".a.bin.download.json"].path, &status) == 0)
    #expect(status.st_mode & 0o077 == 0)
  }

  /// As if the note could not be written: nothing could resume the file.
  @Test func partWithoutItsNoteIsNotKept() async throws {
    try FileManager.default.createDirectory(at: folder[".a.bin.download.json"], withIntermediateDirectories: false)
    try await interrupt()
    #expect(!folder.names.contains(".a.bin.download"))
  }
}
