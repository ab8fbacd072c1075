import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct SequenceUploadsOnTheWireTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.fallback = { _ in .text("") }
  }

  private func post(_ body: RequestBody, method: HTTPMethod = .post) -> Probe<StatusCodeResponse> {
    var probe = Probe<StatusCodeResponse>(path: "/files", method: method)
    probe.body = body
    return probe
  }

  @Test(arguments: Wire.allCases)
  func aSequenceIsSentPieceByPiece(_ wire: Wire) async throws {
    let pieces = [Data.noise(3), Data(), Data.noise(100_000), Data.noise(1)]
    let manager = wire.manager(server)
    _ = try await manager.send(post(RequestBody(sequence: Pieces(pieces), contentType: "a/b")))
    _ = try await manager.send(post(RequestBody(sequence: Pieces(pieces), contentType: "a/b", length: 100_004)))
    _ = try await manager.send(post(RequestBody(sequence: Pieces([]), contentType: "a/b")))
    _ = try await manager.send(post(RequestBody(sequence: Pieces([[1, 2, 3]]), contentType: "a/b", length: 3)))
    #expect(server.requests.map(\.body) == [Data(pieces.joined()), Data(pieces.joined()), Data(), Data([1, 2, 3])])
    guard wire == .automatic else { return }
    #expect(server.requests.map { $0.headers["Content-Length"] } == [nil, "100004", nil, "3"])
    #expect(server.requests.map { $0.headers["Transfer-Encoding"] } == ["chunked", nil, "chunked", nil])
  }

  @Test func headRequestAnnouncesNoContent() async throws {
    // Its own options: no other test uses these connections.
    let manager = NetworkManager(
      baseURL: server.baseURL, session: URLSession(configuration: .ephemeral),
      transport: .secured(by: TLSOptions(pinnedPublicKeys: [Data(repeating: 39, count: 32).base64EncodedString()])))
    for _ in 1...2 {
      var probe = post(RequestBody(sequence: Pieces([Data.noise(3)]), contentType: "a/b"))
      probe.method = .head
      _ = try await manager.send(probe)
    }
    #expect(server.requests.map { $0.headers["Transfer-Encoding"] } == [nil, nil])
    #expect(server.requests.map(\.isComplete) == [true, true])
    #expect(server.acceptedConnections == 1)
  }

  @Test(arguments: [0, 1, 9, 11, 1_000])
  func sequenceOfWrongLengthIsNeverComplete(declared: Int64) async throws {
    let manager = Wire.automatic.manager(server)
    let pieces = [Data.noise(4), Data.noise(6), Data()]
    var probe = post(RequestBody(sequence: Pieces(pieces), contentType: "a/b", length: declared))
    probe.retryPolicy = RetryPolicy(maxRetryCount: 3, delay: 0)
    let error = await #expect(throws: RequestBodyError.self) { _ = try await manager.send(probe) }
    let seen: Int64 = declared < 4 ? 4 : 10
    #expect(error == .lengthMismatch(declared: declared, actual: seen))
    #expect(await server.waitForOpenConnections(0))
    #expect(!server.requests.contains { $0.isComplete })
  }

  @Test(arguments: Wire.allCases, [0, 1, 9, 11, 1_000])
  func streamOfWrongLengthIsNeverComplete(_ wire: Wire, declared: Int64) async throws {
    let body = RequestBody(stream: InputStream(data: Data.noise(10)), contentType: "a/b", length: declared)
    let error = await #expect(throws: (any Error).self) { _ = try await wire.manager(server).send(post(body)) }
    #expect(!server.requests.contains { $0.isComplete })
    guard case .lengthMismatch(declared, let actual)? = error as? RequestBodyError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(declared > 10 ? actual == 10 : actual > declared)
  }

  @Test(arguments: Wire.allCases)
  func aStreamOfKnownLengthIsAnnounced(_ wire: Wire) async throws {
    let data = Data.noise(100_000)
    let body = RequestBody(stream: InputStream(data: data), contentType: "a/b", length: 100_000)
    _ = try await wire.manager(server).send(post(body))
    #expect(server.requests.map(\.body) == [data])
    if wire == .automatic { #expect(server.requests.first?.headers["Content-Length"] == "100000") }
  }

  @Test(arguments: Wire.allCases)
  func sequenceErrorEndsTheRequest(_ wire: Wire) async throws {
    struct Broken: Error, Equatable {}
    let manager = wire.manager(server)
    let stream = AsyncThrowingStream<Data, any Error> { continuation in
      continuation.yield(Data(count: 10))
      continuation.finish(throwing: Broken())
    }
    var probe = post(RequestBody(sequence: stream, contentType: "a/b"))
    probe.retryPolicy = RetryPolicy(maxRetryCount: 3, delay: 0)
    if wire == .automatic {
      await #expect(throws: Broken()) { _ = try await manager.send(probe) }
    } else {
      await #expect(throws: (any Error).self) { _ = try await manager.send(probe) }
    }
    #expect(await server.waitForOpenConnections(0))
    #expect(!server.requests.contains { $0.isComplete })
  }

  @Test func aSequenceIsSentOnce() async throws {
    server.route("/files", .status(503))
    var probe = post(RequestBody(sequence: Pieces([Data([1])]), contentType: "a/b"), method: .put)
    probe.retryPolicy = RetryPolicy(maxRetryCount: 3, delay: 0)
    let manager = Wire.automatic.manager(server)
    let error = await #expect(throws: HTTPError.self) { _ = try await manager.send(probe) }
    #expect(error?.statusCode == 503)
    #expect(server.requestCount == 1)
    // The same value in another request: its bytes are used up.
    await #expect(throws: RequestBodyError.alreadySent) { _ = try await manager.send(probe) }
    #expect(server.requests.filter(\.isComplete).count == 1)
  }

  @Test func sequenceIsPulledAsTheServerReads() async throws {
    let isFull = Gate()
    let mayRead = Gate()
    let source = CountingPieces(size: 64 * 1024, count: 4_096)
    server.route("/files", onHead: { _ in .steps([.open(isFull), .wait(mayRead), .discard]) }) {
      .json(["count": $0.bodyByteCount])
    }
    let manager = Wire.automatic.manager(server)
    let upload = Task { [probe = SequencePost(pieces: source)] in try await manager.send(probe) }
    #expect(await isFull.wait())
    // At most what the system's buffers hold, not all 256 MiB.
    #expect(source.taken.withLock { $0 } < 1_024)
    mayRead.open()
    #expect(try await upload.value["count"] == 4_096 * 64 * 1024)
    #expect(source.taken.withLock { $0 } == 4_096)
  }

  @Test(arguments: Wire.allCases)
  func cancellationEndsTheSequence(_ wire: Wire) async throws {
    let isStuck = Gate()
    let hasEnded = Gate()
    let manager = wire.manager(server)
    let upload = Task {
      try await manager.send(StuckPost(source: StuckSequence(isStuck: isStuck, hasEnded: hasEnded)))
    }
    #expect(await isStuck.wait())
    // It does not block other requests.
    _ = try await manager.send(Probe<StatusCodeResponse>(path: "/files"))
    upload.cancel()
    await #expect(throws: CancellationError.self) { try await upload.value }
    #expect(await hasEnded.wait())
    #expect(!server.requests.contains { $0.method == "POST" && $0.isComplete })
  }

  /// The time of the whole request includes that of its body.
  @Test(arguments: Wire.allCases)
  func resourceTimeoutEndsTheSequence(_ wire: Wire) async throws {
    let hasEnded = Gate()
    let manager = wire.manager(server) { $0.timeoutIntervalForResource = 0.3 }
    let error = await #expect(throws: URLError.self) {
      try await manager.send(StuckPost(source: StuckSequence(isStuck: Gate(), hasEnded: hasEnded)))
    }
    #expect(error?.code == .timedOut)
    #expect(await hasEnded.wait())
    #expect(!server.requests.contains { $0.method == "POST" && $0.isComplete })
  }

  @Test(arguments: Wire.allCases)
  func sequenceThatIgnoresCancellationIsNotWaitedFor(_ wire: Wire) async throws {
    let (isStuck, mayEnd) = (Gate(), Gate())
    defer { mayEnd.open() }
    let source = StuckSequence(isStuck: isStuck, hasEnded: Gate(), mayEnd: mayEnd)
    let hurried = wire.manager(server) { $0.timeoutIntervalForResource = 0.3 }
    let error = await #expect(throws: URLError.self) { try await hurried.send(StuckPost(source: source)) }
    #expect(error?.code == .timedOut)
    let manager = wire.manager(server)
    let isStuckAgain = Gate()
    let upload = Task {
      try await manager.send(
        StuckPost(source: StuckSequence(isStuck: isStuckAgain, hasEnded: Gate(), mayEnd: mayEnd)))
    }
    #expect(await isStuckAgain.wait())
    upload.cancel()
    await #expect(throws: CancellationError.self) { try await upload.value }
    #expect(!server.requests.contains { $0.method == "POST" && $0.isComplete })
  }
}

private struct CountingPieces: AsyncSequence, Sendable {
  typealias Element = Data
  let size: Int
  let count: Int
  let taken = Locked(0)

  struct AsyncIterator: AsyncIteratorProtocol {
    let source: CountingPieces
    mutating func next() async -> Data? {
      let isMore = source.taken.withLock { taken in
        guard taken < source.count else { return false }
        taken += 1
        return true
      }
      return isMore ? Data(count: source.size) : nil
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
}

private struct SequencePost: NetworkRequest {
  typealias Response = [String: Int]
  let pieces: CountingPieces
  let path = "/files"
  let method = HTTPMethod.post
  var body: RequestBody? { RequestBody(sequence: pieces, contentType: "a/b") }
}

/// Yields one piece, and never another one.
private struct StuckSequence: AsyncSequence, Sendable {
  let isStuck: Gate
  private let mayEnd: Gate?
  private let lifetime: Lifetime

  /// - Parameters:
  ///   - hasEnded: Opens when nothing iterates the sequence any more, or can begin to.
  ///   - mayEnd: Until when it ignores that the task is cancelled.
  init(isStuck: Gate, hasEnded: Gate, mayEnd: Gate? = nil) {
    self.isStuck = isStuck
    self.mayEnd = mayEnd
    lifetime = Lifetime(hasEnded: hasEnded)
  }

  private final class Lifetime: Sendable {
    private let hasEnded: Gate
    init(hasEnded: Gate) { self.hasEnded = hasEnded }
    deinit { hasEnded.open() }
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    let source: StuckSequence
    var isFirst = true

    mutating func next() async throws -> Data? {
      guard !isFirst else {
        isFirst = false
        return Data(count: 10)
      }
      source.isStuck.open()
      if let mayEnd = source.mayEnd { _ = await Task.detached { await mayEnd.wait() }.value }
      // Never opened: this ends when the task is cancelled.
      await Gate().wait(timeout: .seconds(600))
      throw CancellationError()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
}

private struct StuckPost: NetworkRequest {
  typealias Response = StatusCodeResponse
  let source: StuckSequence
  let path = "/files"
  let method = HTTPMethod.post
  var body: RequestBody? { RequestBody(sequence: source, contentType: "a/b") }
}
