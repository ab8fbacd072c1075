import LoopbackServer
import Testing

@testable import EKNetwork

struct StreamingMockTests {
  private struct Feed: NetworkRequest {
    typealias Response = EmptyResponse
    var path: String { "/feed" }
    var method: HTTPMethod { .get }
  }

  private static let url = URL(string: "https://example.com")!
  private static let ok = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["A": "b"])!

  /// As documented, with the method that was once the only one.
  private struct ByteMock: URLSessionStreamingProtocol {
    func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
      let stream = AsyncThrowingStream<UInt8, Error> { continuation in
        for byte in "hello".utf8 { continuation.yield(byte) }
        continuation.finish()
      }
      return (stream, StreamingMockTests.ok)
    }
  }

  private struct ChunkMock: URLSessionStreamingProtocol {
    let chunks: [Data]
    var response: URLResponse = StreamingMockTests.ok
    func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
      let chunks = chunks
      return (
        AsyncThrowingStream { c in
          chunks.forEach { c.yield($0) }; c.finish()
        }, response
      )
    }
  }

  private struct LazyMock: URLSessionStreamingProtocol {}

  /// A session that wraps another, for example to log.
  private struct ByteWrapper: URLSessionStreamingProtocol {
    let base: any URLSessionStreamingProtocol
    func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
      try await base.byteStream(for: request)
    }
  }

  private struct ChunkWrapper: URLSessionStreamingProtocol {
    let base: any URLSessionStreamingProtocol
    func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
      // A task inherits the record of the running defaults, which must not affect `base`.
      try await Task { try await base.dataStream(for: request) }.value
    }
  }

  private struct PlainMock: URLSessionProtocol {
    func data(for request: URLRequest) async throws -> (Data, URLResponse) { throw URLError(.unknown) }
  }

  private func text(_ response: StreamingResponse) async throws -> String {
    var bytes: [UInt8] = []
    for try await byte in response.bytes { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func mockMayImplementEitherMethod() async throws {
    for session in [ByteMock(), ChunkMock(chunks: [Data("hel".utf8), Data(), Data("lo".utf8)])]
      as [any URLSessionStreamingProtocol]
    {
      let manager = NetworkManager(baseURL: Self.url, session: PlainMock(), streamingSession: session)
      let response = try await manager.stream(Feed(), accessToken: nil)
      #expect(response.headers == ["A": "b"])
      #expect(try await text(response) == "hello")
      let (bytes, _) = try await session.byteStream(for: URLRequest(url: Self.url))
      var count = 0
      for try await _ in bytes { count += 1 }
      #expect(count == 5)
      let (chunks, _) = try await session.dataStream(for: URLRequest(url: Self.url))
      var data = Data()
      for try await chunk in chunks { data.append(chunk) }
      #expect(data == Data("hello".utf8))
    }
  }

  @Test func errorBodyOfByteStreamIsBounded() async throws {
    struct Refusing: URLSessionStreamingProtocol {
      let count: Int
      func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
        let response = HTTPURLResponse(
          url: StreamingMockTests.url, statusCode: 500, httpVersion: nil, headerFields: nil)
        let left = Locked(count)
        let bytes = AsyncThrowingStream<UInt8, Error> {
          left.withLock { left in
            left -= 1
            return left < 0 ? nil : 65
          }
        }
        return (bytes, try #require(response))
      }
    }
    for count in [1_048_576, 1_048_577] {
      let manager = NetworkManager(baseURL: Self.url, streamingSession: Refusing(count: count))
      do {
        _ = try await manager.stream(Feed(), accessToken: nil)
        Issue.record("a response with status 500 is an error")
      } catch let error as HTTPError {
        #expect(count == 1_048_576 && error.data.count == count)
      } catch StreamingError.errorPayloadTooLarge(let limit) {
        #expect(count == 1_048_577 && limit == 1_048_576)
      }
    }
  }

  @Test func mockOfNeitherMethodFailsWithoutRecursion() async throws {
    let manager = NetworkManager(baseURL: Self.url, streamingSession: LazyMock())
    await #expect(throws: StreamingError.invalidResponse) { _ = try await manager.stream(Feed()) }
    await #expect(throws: StreamingError.invalidResponse) {
      _ = try await LazyMock().byteStream(for: URLRequest(url: Self.url))
    }
  }

  @Test func sessionMayWrapAnother() async throws {
    let server = try LoopbackServer()
    server.route("/feed") { _ in .text("hello", headers: ["A": "b"]) }
    let stub = StubSession()
    stub.on(.get, "/feed", .pieces(["hel", "lo"]))
    for base in [ByteMock(), ChunkMock(chunks: [Data("hello".utf8)]), stub, URLSession.shared]
      as [any URLSessionStreamingProtocol]
    {
      let wrapped = ByteWrapper(base: base)
      for session in [
        wrapped, ChunkWrapper(base: base), ByteWrapper(base: wrapped), ChunkWrapper(base: wrapped),
        ByteWrapper(base: ChunkWrapper(base: wrapped)), ChunkWrapper(base: ByteWrapper(base: ChunkWrapper(base: base))),
      ] as [any URLSessionStreamingProtocol] {
        let manager = NetworkManager(baseURL: server.baseURL, session: PlainMock(), streamingSession: session)
        let response = try await manager.stream(Feed(), accessToken: nil)
        #expect(try await text(response) == "hello")
      }
    }
    await #expect(throws: StreamingError.invalidResponse) {
      _ = try await ByteWrapper(base: LazyMock()).dataStream(for: URLRequest(url: Self.url))
    }
  }

  /// The timeout of a silent stream depends on it.
  @Test(.timeLimit(.minutes(10))) func cancelEndsSuspendedRead() async throws {
    let (stream, continuation) = AsyncThrowingStream<Data, Error>.makeStream()
    let ended = AsyncStream<Void>.makeStream()
    continuation.onTermination = { _ in ended.continuation.finish() }
    let body = ChunkStreamBody(stream)
    continuation.yield(Data([1]))
    #expect(try await body.next() == Data([1]))
    let reading = Task { try await body.next() }
    await Task.yield()
    body.cancel()
    for await _ in ended.stream {}
    // The cancelled body does not end normally.
    await #expect(throws: CancellationError.self) { try await reading.value }
    await #expect(throws: CancellationError.self) { try await body.next() }
  }

  @Test func nonHTTPResponseIsInvalid() async throws {
    let other = URLResponse(url: Self.url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
    let manager = NetworkManager(baseURL: Self.url, streamingSession: ChunkMock(chunks: [], response: other))
    await #expect(throws: StreamingError.invalidResponse) { _ = try await manager.stream(Feed()) }
  }

  @Test func iteratorReturnsNilAfterTheEnd() async throws {
    let stream = AsyncThrowingStream<Data, Error> { c in
      for text in ["a", "b", "c"] { c.yield(Data(text.utf8)) }
      c.finish()
    }
    let response = StreamingResponse(statusCode: 200, headers: [:], chunks: stream)
    var iterator = response.chunks.makeAsyncIterator()
    #expect(try await iterator.next() == Data("a".utf8))
    #expect(try await iterator.next() == Data("b".utf8))
    #expect(try await iterator.next() == Data("c".utf8))
    #expect(try await iterator.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  @Test(.timeLimit(.minutes(10))) func leavingTheLoopTerminatesTheStream() async throws {
    let ended = AsyncStream<Void>.makeStream()
    func response() -> StreamingResponse {
      let (stream, continuation) = AsyncThrowingStream<Data, Error>.makeStream()
      continuation.onTermination = { _ in ended.continuation.finish() }
      continuation.yield(Data("a".utf8))
      continuation.yield(Data("b".utf8))
      return StreamingResponse(statusCode: 200, headers: [:], chunks: stream)
    }
    let kept = response()
    for try await _ in kept.chunks { break }
    for await _ in ended.stream {}
    withExtendedLifetime(kept) {}
  }
}
