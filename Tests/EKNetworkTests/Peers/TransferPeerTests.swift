#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Files to and from third-party servers.
  @Suite("Transfer peers", .serialized, .timeLimit(.minutes(20)), .enabled(if: PeerProcess.python != nil))
  struct TransferPeerTests {
    private struct Hash: Decodable, Sendable, Equatable {
      var sha256: String
      var size: Int64
    }

    private struct Field: Decodable, Sendable, Equatable {
      var name: String
      var filename: String?
      var sha256: String
      var type: String?
    }

    private static let gibibyte: Int64 = 1 << 30
    /// More than all buffers together hold.
    private static let large: Int64 = 256 << 20
    private static let sizes: [Int64] = [0, 1, 65_535, 65_536, 1 << 20, large]

    private let peer: PeerProcess
    private let folder: ScratchFolder

    init() throws {
      peer = try PeerProcess.shared("transfers.py")
      folder = try ScratchFolder()
    }

    private func manager(_ name: String, of own: PeerProcess? = nil) throws -> NetworkManager {
      let peer = own ?? peer
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 600
      return NetworkManager(
        baseURL: try peer.url(name, scheme: name == "h2" ? "https" : "http"),
        session: URLSession(configuration: configuration),
        transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
    }

    /// Repeated noise: every MiB begins with its number, so that a lost or swapped one is noticed.
    private func source(_ size: Int64) throws -> URL {
      let url = folder["source"]
      try Data().write(to: url)
      let file = try FileHandle(forWritingTo: url)
      var block = Data.noise(1 << 20)
      var rest = size
      while rest > 0 {
        withUnsafeBytes(of: rest) { block.replaceSubrange(0..<8, with: $0) }
        try file.write(contentsOf: block.prefix(Int(min(rest, 1 << 20))))
        rest -= 1 << 20
      }
      try file.close()
      return url
    }

    private func run(_ command: String, _ arguments: String...) throws -> String {
      String(decoding: try ChildProcess(command, arguments).run(), as: UTF8.self)
    }

    private func sha256(_ url: URL) throws -> String { String(try run("sha256sum", url.path).prefix(64)) }

    /// An eighth of the time that it takes to hash them.
    private func isSame(_ one: URL, _ other: URL) -> Bool { (try? run("cmp", one.path, other.path)) != nil }

    // MARK: - Uploads

    @Test("An uploaded file is stored unchanged", arguments: sizes)
    func put(size: Int64) async throws {
      let source = try source(size)
      let stored = peer.file("put/\(peer.test)")
      defer { try? FileManager.default.removeItem(at: stored) }
      var request = Probe<StatusCodeResponse>(path: "/put/\(peer.test)", method: .put)
      request.body = RequestBody(file: source, contentType: "application/octet-stream")
      let response = try await manager("nginx").send(request)
      #expect([201, 204].contains(response.statusCode))
      #expect(isSame(stored, source))
    }

    @Test("Bodies with and without a length have the same hash on both sides", arguments: sizes)
    func hashes(size: Int64) async throws {
      let source = try source(size)
      let expected = Hash(sha256: try sha256(source), size: size)
      let manager = try manager("aiohttp")
      let bodies: [@Sendable () -> RequestBody] = [
        { RequestBody(file: source, contentType: "a/b") },
        { RequestBody(stream: InputStream(url: source) ?? InputStream(data: Data()), contentType: "a/b") },
        {
          RequestBody(stream: InputStream(url: source) ?? InputStream(data: Data()), contentType: "a/b", length: size)
        },
        { RequestBody(sequence: FileBlocks(url: source), contentType: "a/b") },
        { RequestBody(sequence: FileBlocks(url: source), contentType: "a/b", length: size) },
      ]
      // So much of every kind would only take longer.
      for body in size < Self.large ? bodies[...] : bodies[..<1] + bodies[3..<4] {
        var request = Probe<Hash>(path: "/", method: .post)
        request.body = body()
        #expect(try await manager.send(request) == expected)
      }
    }

    @Test("Form files with names that are hard to quote are parsed by the server")
    func form() async throws {
      let names = ["plain", "quote\"inside", "back\\slash", "emoji 😀", "日本語", "semi;colon", "trailing\\"]
      var form = MultipartFormData()
      var expected: [Field] = []
      for (index, name) in names.enumerated() {
        let file = try folder.file("\(index)", Data.noise(index * 300_000))
        form.addPart(name: name, fileURL: file, mimeType: "image/x-test", filename: name)
        expected.append(Field(name: name, filename: name, sha256: try sha256(file), type: "image/x-test"))
      }
      form.addPart(name: "large", fileURL: try source(64 << 20), mimeType: "a/b", filename: "a\r\nb")
      expected.append(
        Field(name: "large", filename: "a%0D%0Ab", sha256: try sha256(folder["source"]), type: "a/b"))
      let request = Probe<[Field]>(path: "/", method: .post, multipartData: form)
      #expect(try await manager("werkzeug").send(request) == expected)
    }

    @Test("A body that nginx refuses fails with 413 during the upload", arguments: [false, true])
    func refused(expectsContinue: Bool) async throws {
      let url = folder["sparse"]
      try Data().write(to: url)
      #expect(truncate(url.path, 8 << 30) == 0)
      var request = Probe<StatusCodeResponse>(path: "/small/a", method: .put, expectsContinue: expectsContinue)
      request.body = RequestBody(file: url, contentType: "a/b")
      let manager = try manager("nginx")
      let error = await #expect(throws: HTTPError.self) { _ = try await manager.send(request) }
      #expect(error?.statusCode == 413)
    }

    @Test("Bodies of every kind are transferred unchanged over HTTP/2", arguments: [0, 1, 65_536, 64 << 20] as [Int64])
    func overHTTP2(size: Int64) async throws {
      let source = try source(size)
      let manager = try manager("h2")
      let protocols = Locked<Set<String?>>([])
      manager.eventHandler = { event in
        guard case .finished(_, _, let timings) = event.kind else { return }
        protocols.withLock { _ = $0.insert(timings.protocolName) }
      }
      let stored = peer.file("put/\(peer.test)")
      defer { try? FileManager.default.removeItem(at: stored) }
      for (name, body) in [
        ("file", RequestBody(file: source, contentType: "a/b")),
        ("sequence", RequestBody(sequence: FileBlocks(url: source), contentType: "a/b")),
        ("sized", RequestBody(sequence: FileBlocks(url: source), contentType: "a/b", length: size)),
      ] {
        var request = Probe<StatusCodeResponse>(path: "/put/\(peer.test)/\(name)", method: .put)
        request.body = body
        let response = try await manager.send(request)
        #expect([201, 204].contains(response.statusCode))
        #expect(isSame(stored.appendingPathComponent(name), source))
      }
      #expect(protocols.withLock { $0 } == [HTTP2PeerTests.protocolName])
      _ = try await manager.download(FileRequest(path: "/put/\(peer.test)/file"), to: folder["target"])
      #expect(isSame(folder["target"], source))
    }

    // MARK: - Downloads

    @Test("A downloaded file is unchanged", arguments: sizes)
    func download(size: Int64) async throws {
      let source = try source(size)
      try FileManager.default.createSymbolicLink(at: peer.file("whole"), withDestinationURL: source)
      defer { try? FileManager.default.removeItem(at: peer.file("whole")) }
      let result = try await manager("nginx").download(FileRequest(path: "/whole"), to: folder["target"])
      #expect(result.size == size)
      #expect(isSame(folder["target"], source))
    }

    @Test("A full disk is a typed error, and the download resumes once there is space")
    func fullDisk() async throws {
      let peer = try PeerProcess("transfers.py")
      defer { withExtendedLifetime(peer) {} }
      let disk = peer.file("full")
      let source = try source(2 << 20)
      try FileManager.default.createSymbolicLink(at: peer.file("two"), withDestinationURL: source)
      // Without permission to mount there is no such disk.
      if !FileManager.default.fileExists(atPath: peer.file("full/mounted").path) {
        try Test.cancel("mounting is not permitted")
      }
      let manager = try manager("nginx", of: peer)
      let target = disk.appendingPathComponent("target")
      await #expect(throws: DownloadError.diskFull(target)) {
        try await manager.download(FileRequest(path: "/two"), to: target)
      }
      #expect(!FileManager.default.fileExists(atPath: target.path))
      _ = try run("mount", "-o", "remount,size=4m", disk.path)
      let result = try await manager.download(FileRequest(path: "/two"), to: target)
      #expect(result.resumedBytes > 500_000)
      #expect(isSame(target, source))
    }

    @Test("A download from a server that is killed twenty times receives no byte twice")
    func killed() async throws {
      let peer = try PeerProcess("transfers.py")
      defer { withExtendedLifetime(peer) {} }
      let source = try source(Self.gibibyte)
      try FileManager.default.createSymbolicLink(at: peer.file("killed"), withDestinationURL: source)
      let progress = NetworkProgress()
      let points = (0..<20).map { _ in Int64.random(in: 1..<(Self.gibibyte - (64 << 20))) }.sorted()
      let killer = Task {
        var points = points[...]
        for await bytes in progress.$completedBytes.values {
          guard let point = points.first, bytes >= point else { continue }
          points = points.drop { $0 <= bytes }
          try peer.tell("kill")
        }
      }
      defer { killer.cancel() }
      let manager = try manager("nginx", of: peer)
      let attempts = Locked(0)
      manager.eventHandler = { event in
        if case .attemptStarted = event.kind { attempts.withLock { $0 += 1 } }
      }
      let policy = RetryPolicy(maxRetryCount: 100, delay: 0.01)
      let result = try await manager.download(
        FileRequest(path: "/slow/killed", progress: progress, retryPolicy: policy), to: folder["target"])
      #expect(result.statusCode == 206)
      #expect(isSame(folder["target"], source))
      // Points that are close together may share one kill.
      #expect(attempts.withLock { $0 } > 10)
      // Only the last response was logged: it began where the bytes of all others ended.
      let log = try String(contentsOf: peer.file("access.log"), encoding: .utf8)
      let last = try #require(log.split(separator: "\n").last { $0.hasPrefix("206") })
      let numbers = last.split { !$0.isNumber }.compactMap { Int64($0) }
      #expect(numbers.count == 3 && numbers[1] + numbers[2] == Self.gibibyte, "\(last)")
    }
  }

  private struct FileBlocks: AsyncSequence, Sendable {
    let url: URL

    struct AsyncIterator: AsyncIteratorProtocol {
      let file: FileHandle
      mutating func next() async throws -> Data? { try file.read(upToCount: 1 << 18) }
    }

    func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(file: FileHandle(forReadingAtPath: url.path) ?? .nullDevice)
    }
  }
#endif
