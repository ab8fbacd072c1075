import LoopbackServer
import Testing

@testable import EKNetwork

/// Each body goes over a real socket to a server that reads until the stream ends: if the stream ended too early, the
/// server would take a partial body for a complete one.
@Suite("Bodies written to a system stream", .timeLimit(.minutes(10)))
struct BodyPumpTests {
  private struct Broken: Error, Equatable {}

  /// How a body ended.
  private final class Outcome: Sendable {
    let failure = Locked<(any Error)?>(nil)
    let ended = Gate()
    let failed = Gate()
    let full = Gate()
  }

  private func start(_ source: BodySource, _ client: RawClient) -> (BodyPump, Outcome) {
    let outcome = Outcome()
    let sink = ClientSink(client, onFull: { outcome.full.open() }) { outcome.ended.open() }
    let pump = BodyPump(source.makeUpload(), into: sink) { error in
      outcome.failure.withLock { $0 = error }
      outcome.failed.open()
    }
    pump.start()
    return (pump, outcome)
  }

  /// A server that reads until its client closes its side, and records what it has read.
  private func server(_ received: Locked<Data>, _ isDone: Gate) throws -> LoopbackServer {
    let server = try LoopbackServer()
    server.route("/") { request in
      .webSocket(request) { peer in
        while let bytes = peer.bytes.read(), !bytes.isEmpty { received.withLock { $0.append(bytes) } }
        isDone.open()
      }
    }
    return server
  }

  private func client(_ server: LoopbackServer) throws -> RawClient {
    let client = try RawClient(port: server.port)
    try client.write("GET / HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: a\r\n\r\n")
    _ = try client.readAnswer(hasBody: false)
    return client
  }

  /// Pumps a body that fits, and returns what the server read up to the end of the stream.
  private func sent(_ source: BodySource) async throws -> Data {
    let (received, isDone) = (Locked(Data()), Gate())
    let server = try server(received, isDone)
    let client = try client(server)
    let (pump, outcome) = start(source, client)
    await isDone.wait()
    // The server sees the end before the sink has reported it.
    #expect(await outcome.ended.wait() && !outcome.failed.isOpen)
    pump.close()
    server.stop()
    return received.withLock { $0 }
  }

  /// Pumps a body that must not arrive as a whole, and returns why.
  private func failure(_ source: BodySource) async throws -> (any Error)? {
    let (received, isDone) = (Locked(Data()), Gate())
    let server = try server(received, isDone)
    let client = try client(server)
    let (pump, outcome) = start(source, client)
    await outcome.failed.wait()
    // Until the exchange ends the stream stays open, and the server continues to wait.
    #expect(!outcome.ended.isOpen && !isDone.isOpen)
    pump.close()
    await isDone.wait()
    server.stop()
    return outcome.failure.withLock { $0 }
  }

  private func sequence(_ pieces: [Data], length: Int64? = nil, error: (any Error)? = nil) -> BodySource {
    let stream = AsyncThrowingStream<Data, any Error> { continuation in
      for piece in pieces { continuation.yield(piece) }
      continuation.finish(throwing: error)
    }
    return .sequence(SequenceBody(stream, length: length))
  }

  @Test("Files, segments, streams and sequences arrive unchanged")
  func arrives() async throws {
    let folder = try ScratchFolder()
    let data = Data.noise(3_000_000)
    let file = try folder.file("body", data)
    #expect(try await sent(.segments([.file(try FileSegment(file))])) == data)
    #expect(
      try await sent(.segments([.data(Data("a".utf8)), .file(try FileSegment(file)), .data(Data("b".utf8))]))
        == Data("a".utf8) + data + Data("b".utf8))
    #expect(try await sent(.stream(SizedStream(stream: InputStream(data: data), length: Int64(data.count)))) == data)
    #expect(try await sent(sequence([data, Data(), data], length: nil)) == data + data)
    #expect(try await sent(sequence([data], length: Int64(data.count))) == data)
    #expect(try await sent(.segments([])).isEmpty)
  }

  @Test("A changed or removed file fails the body")
  func changedFile() async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("body", .noise(100_000))
    let segment = try FileSegment(file)
    try folder.file("body", .noise(100_001))
    #expect(
      try await failure(.segments([.file(segment)])) as? RequestBodyError
        == .fileChanged(file, announced: 100_000, actual: 100_001))
    try FileManager.default.removeItem(at: file)
    #expect(try await failure(.segments([.file(segment)])) as? RequestBodyError == .fileNotFound(file))
  }

  @Test("A stream or sequence that differs from its announced length is an error", arguments: [9, 11] as [Int64])
  func lengths(announced: Int64) async throws {
    let data = Data.noise(10)
    let stream = BodySource.stream(SizedStream(stream: InputStream(data: data), length: announced))
    #expect(try await failure(stream) as? RequestBodyError == .lengthMismatch(declared: announced, actual: 10))
    #expect(
      try await failure(sequence([data], length: announced)) as? RequestBodyError
        == .lengthMismatch(declared: announced, actual: 10))
  }

  @Test("A sequence that throws or was already used is an error, not an end")
  func brokenSequences() async throws {
    #expect(try await failure(sequence([.noise(10)], error: Broken())) as? Broken == Broken())
    let used = SequenceBody(AsyncStream<Data> { $0.finish() }, length: nil)
    _ = try used.start()
    #expect(try await failure(.sequence(used)) as? RequestBodyError == .alreadySent)
  }

  @Test("Cancelling a pump cancels a sequence that yields nothing")
  func silentSequence() async throws {
    let isCancelled = Gate()
    let isAsked = Gate()
    let stream = AsyncStream<Data>(unfolding: {
      isAsked.open()
      return await withTaskCancellationHandler {
        await isCancelled.wait()
        return nil
      } onCancel: {
        isCancelled.open()
      }
    })
    let (received, isDone) = (Locked(Data()), Gate())
    let server = try server(received, isDone)
    let (pump, outcome) = start(.sequence(SequenceBody(stream, length: nil)), try client(server))
    await isAsked.wait()
    pump.cancel()
    #expect(await isCancelled.wait())
    #expect(!outcome.ended.isOpen, "the server would take the half for the whole")
    pump.close()
    #expect(await outcome.ended.wait())
    server.stop()
  }

  @Test("A server that does not read pauses the body, and its disconnect is not a failure")
  func slowServer() async throws {
    let reads = Gate()
    let server = try LoopbackServer()
    server.route("/") { request in .webSocket(request) { _ in reads.waitBlocking() } }
    let given = Locked(0)
    let block = Data.noise(64 * 1024)
    let stream = AsyncStream<Data>(unfolding: {
      given.withLock { $0 += 1 }
      return block
    })
    let (pump, outcome) = start(.sequence(SequenceBody(stream, length: nil)), try client(server))
    // What the system's buffers take, and no more.
    #expect(await outcome.full.wait())
    #expect(given.withLock { $0 } < 1_000)
    reads.open()
    server.stop()
    pump.close()
    #expect(!outcome.failed.isOpen)
  }
}
