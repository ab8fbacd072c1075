import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct DownloadsOnTheWireTests {
  private let folder: ScratchFolder
  private let content = Data.noise(300_000)
  private let file: RangeServer
  private var server: LoopbackServer { file.server }
  private var target: URL { folder["a.bin"] }

  init() throws {
    folder = try ScratchFolder()
    file = try RangeServer(content)
  }

  @Test(arguments: Wire.allCases, [0, 1, 300_000])
  func fileIsDownloadedCompletely(_ wire: Wire, size: Int) async throws {
    file.state.withLock { $0.content = Data.noise(size) }
    let result = try await wire.manager(server).download(FileRequest(), to: target)
    #expect(try Data(contentsOf: target) == Data.noise(size))
    #expect(result.url == target)
    #expect(result.size == Int64(size))
    #expect(result.statusCode == 200)
    #expect(result.value(forHTTPHeaderField: "ETag") == "\"v1\"")
    #expect(result.resumedBytes == 0)
    #expect(folder.names == ["a.bin"])
    #expect(server.requests.first?.headers["Accept"] == "*/*")
    #expect(server.requests.first?.headers["Accept-Encoding"] == "identity")
    #expect(server.requests.first?.headers["Range"] == nil)
  }

  @Test(arguments: Wire.allCases)
  func retryTransfersOnlyMissingBytes(_ wire: Wire) async throws {
    file.state.withLock { $0.breaks = [100_000, 0, 150_000] }
    let policy = RetryPolicy(maxRetryCount: 5, delay: 0)
    let result = try await wire.manager(server).download(FileRequest(retryPolicy: policy), to: target)
    #expect(try Data(contentsOf: target) == content)
    #expect(result.size == 300_000)
    #expect(result.statusCode == 206)
    #expect(result.resumedBytes == 0)
    #expect(folder.names == ["a.bin"])
    #expect(file.ranges == [nil, "bytes=100000-", "bytes=100000-", "bytes=250000-"])
    #expect(file.state.withLock { $0.sent } == 300_000)
  }

  @Test(arguments: Wire.allCases)
  func nextCallResumesABrokenDownload(_ wire: Wire) async throws {
    file.state.withLock { $0.breaks = [100_000] }
    await #expect(throws: URLError.self) { try await wire.manager(server).download(FileRequest(), to: target) }
    #expect(!FileManager.default.fileExists(atPath: target.path))
    #expect(folder.names == [".a.bin.download", ".a.bin.download.json"])
    let progress = NetworkProgress()
    let result = try await wire.manager(server).download(FileRequest(progress: progress), to: target)
    #expect(result.resumedBytes == 100_000)
    #expect(try Data(contentsOf: target) == content)
    #expect(file.ranges == [nil, "bytes=100000-"])
    #expect(folder.names == ["a.bin"])
    #expect(progress.completedBytes == 300_000)
    #expect(progress.totalBytes == 300_000)
    #expect(progress.fractionCompleted == 1)
  }

  @Test func newVersionIsDownloadedFromTheStart() async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = Wire.automatic.manager(server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    let other = Data.noise(200_000).reversed()
    file.state.withLock {
      $0.content = Data(other)
      $0.tag = "\"v2\""
    }
    let result = try await manager.download(FileRequest(), to: target)
    #expect(result.resumedBytes == 0)
    #expect(try Data(contentsOf: target) == Data(other))
    #expect(folder.names == ["a.bin"])
  }

  @Test func mismatchedPartRestartsTheDownload() async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = Wire.automatic.manager(server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    // A server that ignores If-Range, and has another version by now.
    server.route("/file") { [content] request in
      guard request.headers["Range"] != nil else { return .data(content.prefix(1_000)) }
      return .data(Data(count: 10), status: 206)
        .header("Content-Range", "bytes 100000-100009/100010").header("ETag", "\"v3\"")
    }
    try await manager.download(FileRequest(), to: target)
    #expect(try Data(contentsOf: target) == content.prefix(1_000))
  }

  /// A date does not identify one of several representations, and the tag of a POST's response is that of another one.
  @Test(arguments: Wire.allCases)
  func otherRepresentationsAreNotJoined(_ wire: Wire) async throws {
    let manager = wire.manager(server)
    let other = Data(content.reversed())
    server.route("/file") { [content] request in
      let isFirst = request.headers["Accept-Language"] == "de" || request.method == "POST"
      let rest = request.headers["Range"] == nil ? 0 : 100_000
      let validator =
        request.headers["Accept-Language"] == nil
        ? "ETag: \"v1\"" : "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nDate: Tue, 02 Jan 2024 00:00:00 GMT"
      let range = rest == 0 ? "" : "Content-Range: bytes 100000-299999/300000\r\n"
      let line = "HTTP/1.1 \(rest == 0 ? 200 : 206) A\r\nContent-Length: \(300_000 - rest)\r\n"
      let body = isFirst ? content.prefix(100_000) : other.dropFirst(rest)
      return .raw(
        [.sendString("\(line)\(range)\(validator)\r\n\r\n"), .send(Data(body))] + (isFirst ? [.close] : []))
    }
    let pairs = [
      (FileRequest(headers: ["Accept-Language": "de"]), FileRequest(headers: ["Accept-Language": "en"])),
      (FileRequest(method: .post), FileRequest()),
    ]
    for (first, second) in pairs {
      await #expect(throws: URLError.self) { try await manager.download(first, to: target) }
      let result = try await manager.download(second, to: target)
      #expect(result.resumedBytes == 0)
      #expect(try Data(contentsOf: target) == other)
    }
    #expect(server.requests.allSatisfy { $0.headers["Range"] == nil })
  }

  /// Another process cannot know whose credentials its middleware will add. Two users may get files with the same date.
  @Test(arguments: [true, false], [true, false])
  func onlyTagResumesBehindMiddlewareInAnotherProcess(isBehindMiddleware: Bool, hasTag: Bool) async throws {
    let isFirst = Locked(true)
    server.route("/file") { [content] request in
      let breaks = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      let rest = request.headers["Range"] == nil ? 0 : 100_000
      let validator =
        hasTag
        ? "ETag: \"v1\"" : "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nDate: Tue, 02 Jan 2024 00:00:00 GMT"
      let range = rest == 0 ? "" : "Content-Range: bytes 100000-299999/300000\r\n"
      let line = "HTTP/1.1 \(rest == 0 ? 200 : 206) A\r\nContent-Length: \(300_000 - rest)\r\n"
      let body = breaks ? content.prefix(100_000) : content.dropFirst(rest)
      return .raw([.sendString("\(line)\(range)\(validator)\r\n\r\n"), .send(Data(body))] + (breaks ? [.close] : []))
    }
    func download() async throws -> DownloadedFile {
      let manager = Wire.automatic.manager(server)
      if isBehindMiddleware { manager.attemptMiddleware = [RateLimiter()] }
      return try await manager.download(FileRequest(), to: target)
    }
    await #expect(throws: URLError.self) { try await download() }
    #expect(try await download().resumedBytes == (hasTag || !isBehindMiddleware ? 100_000 : 0))
    #expect(try Data(contentsOf: target) == content)
  }

  /// RFC 9112 §6.3: a 204 has no body, whatever its length field says.
  @Test(arguments: Wire.allCases)
  func noContentIgnoresContentLength(_ wire: Wire) async throws {
    server.route("/file") { _ in .raw([.sendString("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")]) }
    let result = try await wire.manager(server).download(FileRequest(), to: target)
    #expect(result.statusCode == 204)
    #expect(result.size == 0)
  }

  /// RFC 9112 §6.3: the transfer coding overrides the length.
  @Test(arguments: [1, 9]) func chunkedFileIgnoresContentLength(_ length: Int) async throws {
    server.route("/file") { _ in
      .raw(
        "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(length)\r\nTransfer-Encoding: chunked\r\n\r\n"
          + "2\r\nok\r\n0\r\n\r\n")
    }
    let result = try await Wire.automatic.manager(server).download(FileRequest(), to: target)
    #expect(result.size == 2)
    #expect(try Data(contentsOf: target) == Data("ok".utf8))
    #expect(folder.names == ["a.bin"])
  }

  @Test func withoutAValidatorNothingIsKept() async throws {
    file.state.withLock {
      $0.tag = nil
      $0.breaks = [100_000, 100_000]
    }
    let manager = Wire.automatic.manager(server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    #expect(folder.names == [])
    try await manager.download(FileRequest(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0)), to: target)
    #expect(try Data(contentsOf: target) == content)
    #expect(file.ranges == [nil, nil, nil])
  }

  @Test(arguments: Wire.allCases, ["bytes 0-9/20", "bytes 0-9/*", "x"])
  func unrequestedPartIsAnError(_ wire: Wire, range: String) async throws {
    server.route("/file") { _ in .data(Data(count: 10), status: 206).header("Content-Range", range) }
    let error = await #expect(throws: (any Error).self) {
      try await wire.manager(server).download(FileRequest(), to: target)
    }
    if range.hasSuffix("20") {
      #expect(error as? DownloadError == .incomplete(received: 10, announced: 20))
    } else {
      #expect(error?.urlErrorCode == .badServerResponse)
      #expect(error?.localizedDescription.contains("206") == true)
    }
    #expect(folder.names == [])
  }

  @Test(arguments: Wire.allCases) func partUnderTheStatusOfTheWholeIsNotTheFile(_ wire: Wire) async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = wire.manager(server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    let ignoresRange = Locked(false)
    server.route("/file") { [content] request in
      let isWhole = request.headers["Range"] == nil && !ignoresRange.withLock { $0 }
      return isWhole
        ? .data(content).header("ETag", "\"v1\"")
        : .data(content.suffix(200_000)).header("ETag", "\"v1\"").header("Content-Range", "bytes 100000-299999/300000")
    }
    let result = try await manager.download(FileRequest(), to: target)
    #expect(result.resumedBytes == 0 && result.size == 300_000)
    #expect(try Data(contentsOf: target) == content)
    ignoresRange.withLock { $0 = true }
    await #expect(throws: DownloadError.incomplete(received: 200_000, announced: 300_000)) {
      try await manager.download(FileRequest(), to: target)
    }
    #expect(try Data(contentsOf: target) == content)
  }

  /// A partial file that another user may have created is not resumed.
  // Only root can give files away.
  @Test(arguments: ["link", "mode", "FIFO"] + (geteuid() == 0 ? ["owner", "note"] : []))
  func untrustedPartialFileIsNotResumed(_ change: String) async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = Wire.automatic.manager(server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    #expect(folder.names == [".a.bin.download", ".a.bin.download.json"])
    let partial = folder[".a.bin.download"]
    switch change {
    case "link": #expect(link(partial.path, folder["theirs"].path) == 0)
    case "mode": #expect(chmod(partial.path, 0o666) == 0)
    case "FIFO":
      try FileManager.default.removeItem(at: partial)
      #expect(mkfifo(partial.path, 0o666) == 0)
    default:
      #expect(chown(change == "note" ? partial.path + ".json" : partial.path, 65_534, 65_534) == 0)
    }
    let result = try await manager.download(FileRequest(), to: target)
    #expect(result.resumedBytes == 0)
    #expect(file.ranges == [nil, nil])
    #expect(try Data(contentsOf: target) == content)
    #expect(folder.names == (change == "link" ? ["a.bin", "theirs"] : ["a.bin"]))
    if change == "link" { #expect(try Data(contentsOf: folder["theirs"]).count == 100_000) }
  }

  @Test func optionsTurnResumingOff() async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = Wire.automatic.manager(server)
    var options = DownloadOptions(resumes: false, synchronizes: true)
    let request = FileRequest(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    try await manager.download(request, to: target, options: options)
    #expect(file.ranges == [nil, nil])
    // What could be resumed is not kept either.
    file.state.withLock { $0.breaks = [100_000] }
    await #expect(throws: URLError.self) {
      try await manager.download(FileRequest(), to: folder["b.bin"], options: options)
    }
    #expect(folder.names == ["a.bin"])
    options.resumes = true
    // The response to a range of the caller's own is like any other.
    let result = try await manager.download(
      FileRequest(headers: ["Range": "bytes=299990-", "If-Range": "\"v1\""]), to: target, options: options)
    #expect(result.statusCode == 206)
    #expect(try Data(contentsOf: target) == content.suffix(10))
  }

  @Test func cancellationKeepsThePartialFile() async throws {
    let isMoving = Gate()
    server.route("/file") { [content] _ in
      .raw([
        .sendString("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\nETag: \"v1\"\r\n\r\n"),
        .send(content.prefix(100_000)),
        .open(isMoving), .stall,
      ])
    }
    let progress = NetworkProgress()
    let manager = Wire.automatic.manager(server)
    let download = Task { [target] in try await manager.download(FileRequest(progress: progress), to: target) }
    #expect(await isMoving.wait())
    #if !canImport(Combine)
      for await bytes in progress.$completedBytes.values where bytes == 100_000 { break }
    #endif
    download.cancel()
    await #expect(throws: CancellationError.self) { try await download.value }
    #expect(await server.waitForOpenConnections(0))
    #expect(folder.names == [".a.bin.download", ".a.bin.download.json"])
    server.route("/file") { request in
      #expect(request.headers["Range"] == "bytes=100000-")
      return .status(404)
    }
    let error = await #expect(throws: HTTPError.self) { try await manager.download(FileRequest(), to: target) }
    #expect(error?.statusCode == 404)
    // An error response keeps the partial file.
    #expect(folder.names == [".a.bin.download", ".a.bin.download.json"])
  }

  @Test func limitOfMiddlewareKeepsThePartialFile() async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = Wire.automatic.manager(server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    server.route("/file") { _ in .data(Data(count: 100), status: 503) }
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        var response = try await next(request)
        _ = try await response.data(maximumSize: 10)
        return response
      }
    ]
    await #expect(throws: ResponseLimitError.self) { try await manager.download(FileRequest(), to: target) }
    #expect(folder.names == [".a.bin.download", ".a.bin.download.json"])
  }

  @Test func closeBeforeTheResponseLeavesNoFile() async throws {
    server.route("/file") { _ in .raw("") }
    let manager = Wire.automatic.manager(server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    #expect(folder.names == [])
  }

  @Test func errorResponseThrowsAndLeavesNoFile() async throws {
    server.route("/file") { _ in .json(#"{"why":"gone"}"#, status: 404) }
    let manager = Wire.automatic.manager(server)
    let error = await #expect(throws: HTTPError.self) { try await manager.download(FileRequest(), to: target) }
    #expect(error?.statusCode == 404)
    #expect(error?.data == Data(#"{"why":"gone"}"#.utf8))
    server.route("/file") { _ in .data(Data(count: 1_048_577), status: 500) }
    await #expect(throws: StreamingError.errorPayloadTooLarge(limitBytes: 1_048_576)) {
      try await manager.download(FileRequest(), to: target)
    }
    #expect(folder.names == [])
  }

  @Test func tokenIsRefreshedDuringADownload() async throws {
    server.route("/file") { [content] request in
      request.headers["Authorization"] == "Bearer new" ? .data(content) : .status(401)
    }
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    try await manager.download(FileRequest(), to: target, accessToken: { tokens.current })
    #expect(try Data(contentsOf: target) == content)
  }

  @Test func sizeLimitCoversTheWholeFile() async throws {
    file.state.withLock { $0.breaks = [100_000, 100_000] }
    let manager = Wire.automatic.manager(server)
    let request = FileRequest(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0), maximumResponseSize: 299_999)
    await #expect(throws: ResponseLimitError.self) { try await manager.download(request, to: target) }
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    await #expect(throws: ResponseLimitError.self) {
      try await manager.download(FileRequest(maximumResponseSize: 250_000), to: target)
    }
    #expect(folder.names == [])
    // The rest alone is too large.
    file.state.withLock { $0.breaks = [100_000] }
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    await #expect(throws: ResponseLimitError.self) {
      try await manager.download(FileRequest(maximumResponseSize: 150_000), to: target)
    }
    #expect(folder.names == [])
  }

  @Test func fileThatTurnsOutTooLargeIsNotKept() async throws {
    let isWritten = Gate()
    server.route("/file") { [content] _ in
      .streaming(
        headers: ["ETag": "\"v1\""],
        [.chunk(content.prefix(100_000)), .wait(isWritten), .chunk(Data(content.dropFirst(100_000))), .endOfChunks()])
    }
    let progress = NetworkProgress()
    let manager = Wire.automatic.manager(server)
    let download = Task { [target] in
      try await manager.download(FileRequest(progress: progress, maximumResponseSize: 200_000), to: target)
    }
    #if !canImport(Combine)
      for await bytes in progress.$completedBytes.values where bytes == 100_000 { break }
    #endif
    isWritten.open()
    await #expect(throws: ResponseLimitError.self) { try await download.value }
    #expect(folder.names == [])
  }

  @Test func encodedResponseIsDecoded() async throws {
    // `gzip -9` of "hello\n", with a name of no length.
    let packed = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ5wIAIDA6NgYAAAA="))
    server.route("/file") { _ in .data(packed).header("Content-Encoding", "gzip").header("ETag", "\"v1\"") }
    let result = try await Wire.automatic.manager(server).download(FileRequest(), to: target)
    #expect(try Data(contentsOf: target) == Data("hello\n".utf8))
    #expect(result.size == 6)
  }

  @Test func mockSessionSupportsDownloads() async throws {
    let manager = NetworkManager(baseURL: server.baseURL, session: FileSession())
    let result = try await manager.download(FileRequest(), to: target)
    #expect(try Data(contentsOf: target) == Data("mock".utf8))
    #expect(result.headers["X-Mock"] == "1")
  }
}

private struct FileSession: URLSessionProtocol {
  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    let url = try #require(request.url)
    let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["X-Mock": "1"])
    return (Data("mock".utf8), try #require(response))
  }
}
