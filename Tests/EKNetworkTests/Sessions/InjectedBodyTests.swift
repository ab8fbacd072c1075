import LoopbackServer
import Testing

@testable import EKNetwork

/// The bodies that an injected session receives.
@Suite(.timeLimit(.minutes(10))) struct InjectedBodyTests {
  private let session = ReadingSession()
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func request(_ body: InputStream) throws -> TransportRequest {
    var request = URLRequest(url: try #require(URL(string: "https://api.example.com/files")))
    request.httpMethod = "POST"
    request.httpBodyStream = body
    return TransportRequest(request)
  }

  private var transports: [any Transport] { [SessionTransport(session), StreamingSessionTransport(session)] }

  @Test func bodyIsUnreadInEachAttempt() async throws {
    let file = try folder.file("a", Data("file".utf8))
    let body = BodyInputStream(.segments([.data(Data("a ".utf8)), .file(try FileSegment(file))]))
    for transport in transports {
      let upload = try request(body)
      for _ in 1...2 { _ = try await transport.start(upload) }
    }
    #expect(session.bodies.withLock { $0 } == Array(repeating: "a file", count: 4))
  }

  @Test func middlewareMaySendAFileTwice() async throws {
    let manager = NetworkManager(
      baseURL: try #require(URL(string: "https://api.example.com")), session: session, streamingSession: session)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        _ = try await next(request)
        return try await next(request)
      }
    ]
    var probe = Probe<StatusCodeResponse>(method: .post)
    probe.body = RequestBody(file: try folder.file("a", Data("file".utf8)), contentType: "a/b")
    _ = try await manager.send(probe)
    _ = try await manager.stream(probe, accessToken: nil)
    #expect(session.bodies.withLock { $0 } == Array(repeating: "file", count: 4))
  }

  /// RFC 9110 §15.5.18: the request is sent again without the expectation.
  @Test func refusedExpectationResendsTheBody() async throws {
    session.statuses.withLock { $0 = [417] }
    let manager = NetworkManager(baseURL: try #require(URL(string: "https://api.example.com")), session: session)
    var probe = Probe<StatusCodeResponse>(method: .post)
    probe.expectsContinue = true
    probe.body = RequestBody(file: try folder.file("a", Data("file".utf8)), contentType: "a/b")
    _ = try await manager.send(probe)
    #expect(session.bodies.withLock { $0 } == ["file", "file"])
  }

  /// Neither its rest nor nothing is sent.
  @Test func bodyThatCanBeReadOnceIsSentOnce() async throws {
    for transport in transports {
      let stream = try request(InputStream(data: Data("stream".utf8)))
      let sized = SizedStream(stream: InputStream(data: Data("stream".utf8)), length: 6)
      for upload in [stream, try request(BodyInputStream(.stream(sized)))] {
        _ = try await transport.start(upload)
        let error = await #expect(throws: URLError.self) { _ = try await transport.start(upload) }
        #expect(error?.code == .requestBodyStreamExhausted)
      }
      let pieces = AsyncStream<Data> { continuation in
        continuation.yield(Data("sequence".utf8))
        continuation.finish()
      }
      let sequence = try request(BodyInputStream(.sequence(SequenceBody(pieces, length: nil))))
      _ = try await transport.start(sequence)
      await #expect(throws: RequestBodyError.alreadySent) { _ = try await transport.start(sequence) }
    }
    let sent = ["stream", "stream", "sequence"]
    #expect(session.bodies.withLock { $0 } == sent + sent)
  }
}

/// A session that reads the stream of each request.
private final class ReadingSession: URLSessionProtocol, URLSessionStreamingProtocol, Sendable {
  let bodies = Locked<[String]>([])
  /// The statuses of the next responses; 200 for those after them.
  let statuses = Locked<[Int]>([])

  func data(for request: URLRequest) async throws -> (Data, URLResponse) { (Data(), try response(to: request)) }

  func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    (AsyncThrowingStream { $0.finish() }, try response(to: request))
  }

  private func response(to request: URLRequest) throws -> URLResponse {
    let stream = try #require(request.httpBodyStream)
    stream.open()
    defer { stream.close() }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 100)
    while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 { data += buffer[..<count] }
    bodies.withLock { [text = String(decoding: data, as: UTF8.self)] in $0.append(text) }
    let status = statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
    let url = try #require(request.url)
    return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil))
  }
}
