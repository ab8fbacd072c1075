import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct UploadsOnTheWireTests {
  private let server: LoopbackServer
  private let folder: ScratchFolder

  init() throws {
    server = try LoopbackServer()
    folder = try ScratchFolder()
    server.fallback = { _ in .text("") }
  }

  private func post(_ body: RequestBody, method: HTTPMethod = .post) -> Probe<StatusCodeResponse> {
    var probe = Probe<StatusCodeResponse>(path: "/files", method: method)
    probe.body = body
    return probe
  }

  @Test(arguments: Wire.allCases, [0, 1, 65_535, 65_536, 300_000, 1_048_576])
  func fileArrivesUnchanged(_ wire: Wire, size: Int) async throws {
    let data = Data.noise(size)
    let body = RequestBody(file: try folder.file("a", data), contentType: "a/b")
    _ = try await wire.manager(server).send(post(body))
    let request = try #require(server.requests.first)
    #expect(request.body == data)
    #expect(request.headers["Content-Type"] == "a/b")
    #if canImport(FoundationNetworking)
      // Foundation on Linux sends every stream in chunks.
      if wire == .automatic {
        #expect(request.headers["Content-Length"] == String(size))
        #expect(request.headers["Transfer-Encoding"] == nil)
      }
    #endif
  }

  @Test(arguments: Wire.allCases)
  func fileIsResentAfterRetryRefreshAndRedirect(_ wire: Wire) async throws {
    let data = Data.noise(200_000)
    server.route("/files", .status(503), .status(401), .redirect(to: "/moved", status: 307))
    server.route("/moved") { .json(["count": $0.body.count]) }
    let manager = wire.manager(server)
    manager.tokenRefresher = TestTokens("old")
    var probe = post(RequestBody(file: try folder.file("a", data), contentType: "a/b"), method: .put)
    probe.retryPolicy = RetryPolicy(maxRetryCount: 1, delay: 0)
    _ = try await manager.send(probe)
    #expect(server.requests.map(\.path) == ["/files", "/files", "/files", "/moved"])
    #expect(server.requests.allSatisfy { $0.body == data })
  }

  /// A used stream is sent neither empty nor from its current position.
  @Test(arguments: Wire.allCases)
  func aStreamIsSentOnce(_ wire: Wire) async throws {
    let manager = wire.manager(server)
    let data = Data.noise(10_000)
    func isUsedUp(_ body: RequestBody) async {
      let error = await #expect(throws: URLError.self) { try await manager.send(post(body)) }
      #expect(error?.code == .requestBodyStreamExhausted)
    }
    for body in [
      RequestBody(stream: InputStream(data: data), contentType: "a/b"),
      RequestBody(stream: InputStream(data: data), contentType: "a/b", length: 10_000),
    ] {
      _ = try await manager.send(post(body))
      for _ in 1...2 { await isUsedUp(body) }
    }
    let opened = InputStream(data: data)
    opened.open()
    await isUsedUp(RequestBody(stream: opened, contentType: "a/b"))
    #expect(server.requests.map(\.body) == [data, data])
    manager.middleware = [
      Intercept { request, _, next in
        _ = try await next(request)
        return try await next(request)
      }
    ]
    let body = RequestBody(stream: InputStream(data: data), contentType: "a/b")
    await #expect(throws: RequestBodyError.alreadySent) { try await manager.send(post(body)) }
    #expect(server.requestCount == 3)
  }

  @Test func invalidFileIsAnErrorBeforeSending() async throws {
    let pipe = folder["pipe"]
    #expect(mkfifo(pipe.path, 0o600) == 0)
    let link = folder["link"]
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder["nowhere"])
    let status = URL(fileURLWithPath: "/proc/self/status")
    #if os(Linux)
      // It has content, and a size of 0.
      let ofStatus = RequestBodyError.notARegularFile(status)
    #else
      let ofStatus = RequestBodyError.fileNotFound(status)
    #endif
    let cases: [(URL, RequestBodyError)] = [
      (folder["missing"], .fileNotFound(folder["missing"])),
      (folder["missing/child"], .fileNotFound(folder["missing/child"])),
      (folder.url, .notARegularFile(folder.url)),
      (pipe, .notARegularFile(pipe)),
      (URL(fileURLWithPath: "/dev/null"), .notARegularFile(URL(fileURLWithPath: "/dev/null"))),
      (status, ofStatus),
      (link, .fileNotFound(link)),
      (URL(string: "https://example.com/a")!, .fileNotFound(URL(string: "https://example.com/a")!)),
    ]
    let manager = Wire.automatic.manager(server)
    for (url, expected) in cases {
      var probe = post(RequestBody(file: url, contentType: "a/b"))
      probe.retryPolicy = RetryPolicy(maxRetryCount: 3, delay: 0)
      await #expect(throws: expected) { try await manager.send(probe) }
      var form = MultipartFormData()
      form.addPart(name: "a", fileURL: url, mimeType: "a/b")
      let request = Probe<StatusCodeResponse>(path: "/files", method: .post, multipartData: form)
      await #expect(throws: expected) { try await manager.send(request) }
      #expect(expected.localizedDescription.contains(url.isFileURL ? url.path : "https://example.com/a"))
    }
    #expect(server.acceptedConnections == 0)
  }

  @Test func fileModifiedDuringTheUploadIsAnError() async throws {
    let size = 32 << 20
    let url = try folder.file("a", Data(count: size))
    let opening = Gate()
    let hasChanged = Gate()
    server.route("/files", onHead: { _ in .steps([.open(opening), .wait(hasChanged)]) }) { _ in .text("") }
    let manager = Wire.automatic.manager(server)
    let upload = Task { [probe = SendablePost(url: url)] in try await manager.send(probe) }
    #expect(await opening.wait())
    let handle = try FileHandle(forWritingTo: url)
    try handle.seek(toOffset: UInt64(size - 1))
    try handle.write(contentsOf: Data([1]))
    try handle.close()
    // The timestamps of a file system may be too coarse to tell two writes apart.
    var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
    #expect(utimes(url.path, &times) == 0)
    hasChanged.open()
    await #expect(throws: RequestBodyError.fileChanged(url, announced: Int64(size), actual: Int64(size))) {
      _ = try await upload.value
    }
  }

  @Test func replacedFileIsAnError() throws {
    let url = try folder.file("a", Data("one".utf8))
    let segment = try FileSegment(url)
    _ = try segment.open()
    let other = try folder.file("b", Data("two".utf8))
    #expect(rename(other.path, url.path) == 0)
    #expect(throws: RequestBodyError.fileChanged(url, announced: 3, actual: 3)) { _ = try segment.open() }
  }

  @Test(arguments: Wire.allCases, [-1_000_000, -1, 1, 1_000_000])
  func fileResizedDuringTheUploadIsAnError(_ wire: Wire, change: Int) async throws {
    let size = 32 << 20
    let url = try folder.file("a", Data(count: size))
    let opening = Gate()
    let hasChanged = Gate()
    server.route("/files", onHead: { _ in .steps([.open(opening), .wait(hasChanged)]) }) { _ in .text("") }
    let manager = wire.manager(server)
    let upload = Task { [probe = SendablePost(url: url)] in try await manager.send(probe) }
    #expect(await opening.wait())
    #expect(truncate(url.path, off_t(size + change)) == 0)
    hasChanged.open()
    await #expect(throws: RequestBodyError.fileChanged(url, announced: Int64(size), actual: Int64(size + change))) {
      try await upload.value
    }
    #expect(!server.requests.contains { $0.isComplete })
  }
}

private struct SendablePost: NetworkRequest {
  typealias Response = StatusCodeResponse
  let url: URL
  let path = "/files"
  let method = HTTPMethod.post
  var body: RequestBody? { RequestBody(file: url, contentType: "a/b") }
}
