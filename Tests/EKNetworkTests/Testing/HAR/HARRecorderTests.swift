import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct HARRecorderTests {
  private let server: LoopbackServer
  private let recorder = HARRecorder()

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { _ in .json(Item(id: 1)) }
  }

  private func manager(_ wire: Wire, recorder: HARRecorder? = nil) -> NetworkManager {
    let manager = wire.manager(server)
    manager.attemptMiddleware = [recorder ?? self.recorder]
    return manager
  }

  private func entries(_ recorder: HARRecorder? = nil) throws -> [HARProbe.Entry] {
    try HARProbe.entries(recorder ?? self.recorder)
  }

  // MARK: - Entries

  @Test(arguments: Wire.allCases)
  func responseIsRecordedWithTimings(_ wire: Wire) async throws {
    #expect(try await manager(wire).send(ItemProbe()) == Item(id: 1))
    let entry = try #require(try entries().first)
    #expect(entry.request.method == "GET" && entry.request.url == server.url("/item").absoluteString)
    #expect(entry.status == 200 && entry.error == nil)
    #expect(try JSONDecoder().decode(Item.self, from: entry.body ?? Data()) == Item(id: 1))
    #expect(entry.request.headers.values("accept") == ["application/json"])
    #expect(entry.response.headers.values("content-type") == ["application/json"])
    let timings = entry.timings
    #expect(Set(timings.keys) == ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"])
    let phases = ["blocked", "dns", "connect", "send", "wait", "receive"].compactMap { timings[$0] }.filter { $0 > 0 }
    #expect(entry.time >= 0 && abs(phases.reduce(0, +) - entry.time) < 0.01)
    #if os(Linux)
      if wire == .automatic {
        #expect(entry.serverIPAddress == "127.0.0.1")
        #expect(entry.request.httpVersion == "HTTP/1.1")
      }
    #endif
  }

  @Test(arguments: Wire.allCases)
  func retriesAndRedirectsAreSeparateEntries(_ wire: Wire) async throws {
    server.route("/start", .status(503), .redirect(to: "/item?code=codeword"))
    var probe = ItemProbe(path: "/start")
    probe.retryPolicy = RetryPolicy(maxRetryCount: 1, delay: 0)
    #expect(try await manager(wire).send(probe) == Item(id: 1))
    let entries = try entries()
    #expect(entries.map(\.path) == ["/start", "/start", "/item"])
    #expect(entries.map(\.status) == [503, 302, 200])
    #expect(entries[1].response.redirectURL == entries[2].request.url)
    #expect(!entries[2].request.url.contains("codeword"))
  }

  @Test(arguments: Wire.allCases)
  func streamIsRecordedAtItsEnd(_ wire: Wire) async throws {
    let gate = Gate()
    server.route("/feed") { _ in
      .streaming([.chunk(Data("one\n".utf8)), .wait(gate), .chunk(Data("two\n".utf8)), .endOfChunks()])
    }
    let response = try await manager(wire).stream(Probe<EmptyResponse>(path: "/feed"))
    var lines: [String] = []
    for try await line in response.body.lines() {
      lines.append(line)
      #expect(recorder.entryCount == 0)
      gate.open()
    }
    #expect(lines == ["one", "two"])
    let entry = try #require(try entries().first)
    #expect(entry.body == Data("one\ntwo\n".utf8))
    #expect(entry.response.content._pieces == [4, 4])
  }

  @Test(arguments: Wire.allCases)
  func downloadAndUploadAreRecorded(_ wire: Wire) async throws {
    let folder = try ScratchFolder()
    let content = Data.noise(100_000)
    server.route("/file") { _ in .data(content) }
    server.route("/upload") { .text("\($0.body.count)") }
    let manager = manager(wire)
    _ = try await manager.download(Probe<EmptyResponse>(path: "/file"), to: folder["a"])
    var upload = Probe<StatusCodeResponse>(path: "/upload", method: .put)
    upload.body = RequestBody(file: try folder.file("b", content), contentType: "application/octet-stream")
    _ = try await manager.send(upload)
    let entries = try entries()
    #expect(entries.map(\.path) == ["/file", "/upload"])
    #expect(entries[0].body == content)
    #expect(entries[0].response.content.encoding == "base64")
    #expect(entries[1].request.bodySize == 100_000)
    #expect(entries[0].response.bodySize == content.count && entries[0].response._transferSize == content.count)
    #expect(entries.allSatisfy { $0._resourceType == "fetch" })
    #expect(entries[1].body == Data("100000".utf8))
  }

  @Test(arguments: Wire.allCases)
  func compressedBodyIsRecordedDecoded(_ wire: Wire) async throws {
    let text = Data(#"{"id":1,"name":"teapot"}"#.utf8)
    let packed = try Bomb.gzip(text)
    server.route("/item") { _ in
      .data(packed, contentType: "application/json", headers: ["Content-Encoding": "gzip"])
    }
    #expect(try await manager(wire).send(ItemProbe()) == Item(id: 1))
    #expect(try entries().first?.body == text)
    // How many bytes it had on the wire is not known.
    #expect(try entries().first?.response.bodySize == -1)
  }

  // MARK: - Failures

  @Test func connectionErrorIsRecorded() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:\(try LoopbackServer.refusedPort())"))
    let manager = Wire.automatic.manager(url)
    manager.attemptMiddleware = [recorder]
    await #expect(throws: URLError.self) { try await manager.send(ItemProbe()) }
    let entry = try #require(try entries().first)
    #expect(entry.status == 0 && entry.error == "URLError \(URLError.Code.cannotConnectToHost.rawValue)")
  }

  @Test(arguments: Wire.allCases)
  func truncatedBodyIsRecordedWithError(_ wire: Wire) async throws {
    server.route("/item") { _ in .streaming(contentLength: 100, [.sendString("{\"id\""), .reset]) }
    await #expect(throws: URLError.self) { try await manager(wire).send(ItemProbe()) }
    let entry = try #require(try entries().first)
    #expect(entry.status == 200 && entry.error?.hasPrefix("URLError") == true)
  }

  @Test(arguments: Wire.allCases)
  func cancelledRequestIsRecorded(_ wire: Wire) async throws {
    server.route("/slow") { _ in .streaming([.chunk(Data("one\n".utf8)), .stall]) }
    let manager = manager(wire)
    let task = Task {
      for try await _ in try await manager.stream(Probe<EmptyResponse>(path: "/slow")).body {
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    let entry = try #require(try entries().first)
    #expect(entry.status == 200 && entry.error == "CancellationError" && entry.body == Data("one\n".utf8))
  }

  @Test func droppedStreamIsRecorded() async throws {
    server.route("/slow") { _ in .streaming([.chunk(Data("one\n".utf8)), .stall]) }
    let manager = manager(.automatic)
    for try await _ in try await manager.stream(Probe<EmptyResponse>(path: "/slow")).body { break }
    #expect(await server.waitForOpenConnections(0))
    #expect(try entries().map(\.error) == ["CancellationError"])
  }

  // MARK: - Limits and secrets

  @Test func longBodyIsTruncated() async throws {
    server.route("/big") { _ in .data(Data(count: 5_000_000)) }
    let recorder = HARRecorder(options: HAROptions(maximumBodySize: 1000))
    let response = try await manager(.automatic, recorder: recorder).stream(Probe<EmptyResponse>(path: "/big"))
    var count = 0
    for try await chunk in response.body { count += chunk.count }
    #expect(count == 5_000_000)
    let entry = try #require(try entries(recorder).first)
    #expect(entry.response.content.size == 5_000_000)
    #expect(entry.body == Data(count: 1000))
    #expect(entry.response.content._truncated == true)
  }

  @Test func oldestEntriesAreDroppedFirst() async throws {
    let recorder = HARRecorder(options: HAROptions(maximumEntries: 2))
    let manager = manager(.automatic, recorder: recorder)
    for id in 0..<5 {
      server.route("/item/\(id)") { _ in .json(Item(id: id)) }
      _ = try await manager.send(ItemProbe(path: "/item/\(id)"))
    }
    #expect(try entries(recorder).map(\.path) == ["/item/3", "/item/4"])
    #expect(recorder.droppedEntryCount == 3)
    recorder.removeAll()
    #expect(recorder.entryCount == 0 && recorder.droppedEntryCount == 0)
    #expect(try entries(recorder).isEmpty)
  }

  @Test(arguments: [false, true])
  func secretsAreRecordedOnlyOnRequest(reveals: Bool) async throws {
    server.route("/item") { _ in
      .json(
        #"{"id":1,"name":"teapot"}"#,
        headers: ["Set-Cookie": "sid=cookieword", "X-Auth-Token": "fieldword", "Link": "</item?t=linkword>; rel=next"])
    }
    let recorder = HARRecorder(options: HAROptions(revealsSecrets: reveals))
    var probe = ItemProbe(method: .post)
    probe.queryParameters = ["key": "queryword"]
    probe.headers = ["X-Api-Key": "keyword", "Cookie": "a=biscuit"]
    probe.body = RequestBody(formURLEncoded: ["password": "bodyword"])
    _ = try await manager(.automatic, recorder: recorder).send(probe) { "tokenword" }
    let text = try String(decoding: recorder.data(), as: UTF8.self)
    let secrets = [
      "cookieword", "fieldword", "linkword", "queryword", "keyword", "biscuit", "bodyword", "tokenword",
    ]
    #expect(secrets.filter { text.contains($0) } == (reveals ? secrets : []))
    #expect(text.contains("teapot") && text.contains("rel=next"))
    #expect(reveals || text.contains("Bearer") == false)
  }

  @Test func repeatedFieldsStayApart() async throws {
    server.route("/item") { _ in
      var response = LoopbackServer.Response.json(Item(id: 1))
      for value in ["one", "two"] { response.headers.append("X-Part", value) }
      return response
    }
    _ = try await manager(.automatic).send(ItemProbe())
    let values = try entries().first?.response.headers.values("x-part")
    #if os(Linux)
      #expect(values == ["one", "two"])
    #else
      #expect(values == ["one, two"])
    #endif
  }

  // MARK: - Concurrency, adapters, calls and files

  @Test(.timeLimit(.minutes(5)))
  func concurrentRequestsAreAllRecorded() async throws {
    server.route("/item") { .json(Item(id: Int($0.queryValue("id") ?? "") ?? -1)) }
    let recorder = HARRecorder(options: HAROptions(revealsSecrets: true))
    let manager = manager(.automatic, recorder: recorder)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in 0..<300 {
        group.addTask {
          let item = try await manager.send(ItemProbe(queryParameters: ["id": "\(id)"]))
          #expect(item == Item(id: id))
        }
      }
      try await group.waitForAll()
    }
    let entries = try entries(recorder)
    #expect(entries.count == 300 && recorder.entryCount == 300)
    for entry in entries {
      let id = try #require(entry.request.url.split(separator: "=").last.flatMap { Int($0) })
      #expect(try JSONDecoder().decode(Item.self, from: entry.body ?? Data()).id == id)
    }
  }

  @Test func adapterIsRecorded() async throws {
    let adapter = PrismNetworkAdapter(configuration: .ephemeral)
    adapter.attemptMiddleware = [recorder]
    #expect(try await adapter.request(on: LocalRequest<Item>(server.endpoint()), with: nil) == Item(id: 1))
    #expect(try entries().map(\.status) == [200])
  }

  @Test func callMiddlewareRecordsOneEntry() async throws {
    server.route("/start", .status(503), .redirect(to: "/item"))
    let manager = Wire.automatic.manager(server)
    manager.middleware = [recorder]
    var probe = ItemProbe(path: "/start")
    probe.retryPolicy = RetryPolicy(maxRetryCount: 1, delay: 0)
    _ = try await manager.send(probe)
    #expect(try entries().map(\.status) == [200])
  }

  /// The content is in the file, and middleware around the call has not seen it.
  @Test func callMiddlewareRecordsADownloadWithoutItsContent() async throws {
    let folder = try ScratchFolder()
    server.route("/file") { _ in .data(Data.noise(1000)) }
    let manager = Wire.automatic.manager(server)
    manager.middleware = [recorder]
    let file = try await manager.download(Probe<EmptyResponse>(path: "/file"), to: folder["a"])
    #expect(file.size == 1000)
    let entry = try #require(try entries().first)
    #expect(entry.status == 200 && entry.error == nil)
    #expect(entry.response.content.size == 1000 && entry.body == Data())
    #expect(entry.response.content._truncated == true && entry.response.content.comment == "Not kept")
    let replay = NetworkManager(baseURL: server.baseURL, session: try ReplaySession(recorder))
    await #expect(throws: ReplaySession.Failure.self) {
      try await replay.download(Probe<EmptyResponse>(path: "/file"), to: folder["b"])
    }
  }

  @Test(arguments: [true, false]) func fileWithSecretsIsPrivate(revealsSecrets: Bool) async throws {
    let folder = try ScratchFolder()
    let recorder = HARRecorder(options: HAROptions(revealsSecrets: revealsSecrets))
    for _ in 0..<2 {
      try recorder.write(to: folder["a.har"])
      #expect(try Data(contentsOf: folder["a.har"]) == recorder.data())
      let mode = try FileManager.default.attributesOfItem(atPath: folder["a.har"].path)[.posixPermissions] as? Int
      #expect(((mode ?? 0) & 0o044 == 0) == revealsSecrets)
    }
    #expect(folder.names == ["a.har"])
    #expect(throws: (any Error).self) { try recorder.write(to: folder["none/a.har"]) }
    // The path of another URL is none of this machine.
    let elsewhere = try #require(URL(string: "https://a.example\(folder.url.path)/b.har"))
    let error = #expect(throws: URLError.self) { try recorder.write(to: elsewhere) }
    #expect(error?.code == .unsupportedURL)
    #expect(folder.names == ["a.har"])
  }
}
