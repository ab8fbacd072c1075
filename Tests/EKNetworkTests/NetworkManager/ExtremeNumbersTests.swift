import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Every number that the public interface takes, with the least, the greatest and meaningless values: none traps, keeps a
/// processor busy or waits for ever.
@Suite(.timeLimit(.minutes(5))) struct ExtremeNumbersTests {
  struct Row<Number: Sendable>: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable (Number) async throws -> Void

    init(_ name: String, _ check: @escaping @Sendable (Number) async throws -> Void) {
      testDescription = name
      self.check = check
    }
  }

  static let url = URL(string: "https://stub.test/item") ?? URL(fileURLWithPath: "/")
  static let year = Duration.seconds(31_536_000)

  // MARK: - Helpers

  static func rows<Number>(
    _ fill: ((String, @escaping @Sendable (Number) async throws -> Void) -> Void) -> Void
  ) -> [Row<Number>] {
    var rows: [Row<Number>] = []
    fill { rows.append(Row($0, $1)) }
    return rows
  }

  static func stub(_ replies: StubSession.Reply..., clock: any Clock<Duration> = RecordingClock())
    -> NetworkManager
  {
    let session = StubSession(clock: clock)
    session.on(.get, "/item") { _ in replies.first ?? .status(200) }
    return manager(session, clock: clock)
  }

  static func manager(
    _ session: StubSession, clock: any Clock<Duration> = RecordingClock()
  ) -> NetworkManager {
    NetworkManager(baseURL: { url.deletingLastPathComponent() }, transport: SessionTransport(session), clock: clock)
  }

  static func fail(_ middleware: any NetworkMiddleware, times: Int = 3) async -> Int {
    let sent = Locked(0)
    for _ in 0..<times {
      _ = try? await middleware.intercept(
        URLRequest(url: url), context: NetworkMiddlewareContext(),
        next: NetworkMiddlewareNext { _ in
          sent.withLock { $0 += 1 }
          throw URLError(.timedOut)
        })
    }
    return sent.withLock { $0 }
  }

  static func delays(_ policy: WebSocketReconnectPolicy) -> [Duration] {
    var state = ReconnectRetryState(policy: policy)
    return (0..<3).compactMap { _ in
      if case .retry(let delay) = state.lost(because: URLError(.timedOut), after: .zero, now: Date()) {
        delay
      } else {
        nil
      }
    }
  }

  static func delays(_ policy: EventReconnectPolicy) -> [Duration] {
    var state = EventSourceState(policy: policy)
    return (0..<3).compactMap { _ in
      let action = state.lost(because: URLError(.timedOut), bodyIsReplayable: true, random: .random(in: 0...1))
      if case .reconnect(let delay) = action { return delay.sleepable } else { return nil }
    }
  }

  /// - Parameter hasToArrive: Whether the options allow every message.
  static func echo(hasToArrive: Bool, _ change: (inout WebSocketOptions) -> Void) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/") { .webSocketEcho($0) }
    var options = WebSocketOptions()
    options.closeTimeout = .seconds(1)
    change(&options)
    guard let socket = try? await WebSocket.connect(to: server.url("/"), options: options) else {
      #expect(!hasToArrive)
      return
    }
    for text in ["", "text"] { try? await socket.send(text) }
    let first = try? await socket.receive()
    if hasToArrive {
      #expect(first == .text(""))
      #expect(try await socket.receive() == .text("text"))
    }
    try await socket.close()
  }

  static func lines(_ maximum: Int, _ body: Data = Data("\n{}\n\n".utf8)) -> StreamingBody {
    StreamingBody(BufferedBody(body))
  }

  static func end<Sequence: AsyncSequence>(of sequence: Sequence) async -> Bool {
    do {
      for try await _ in sequence {}
      return true
    } catch { return false }
  }

  static func post(_ body: @Sendable (LoopbackServer) -> RequestBody) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.fallback = { _ in .status(204) }
    var probe = Probe<StatusCodeResponse>(path: "/", method: .post)
    probe.body = body(server)
    probe.timeout = .seconds(30)
    _ = try? await Wire.automatic.manager(server).send(probe)
  }

  // MARK: - Counts and sizes

  private static let countRows: [Row<Int>] = rows { add in
    add("CircuitBreaker.failures") {
      #expect(await fail(CircuitBreaker(failures: $0, cooldown: .seconds(60))) == ($0 <= 1 ? 1 : 3))
    }
    add("RateLimiter.requests, maximumWaiting") {
      let limiter = RateLimiter(requests: $0, maximumWait: .zero, maximumWaiting: $0)
      #expect(await fail(limiter) == ($0 <= 1 ? 1 : 3))
    }
    add("PrismResponseCache.maxSize") { size in
      let cache = PrismResponseCache(maxSize: size)
      for key in ["a", "b"] { await cache.set(key, entry: PrismCacheEntry(data: Data(), statusCode: size)) }
      #expect(await cache.count == min(max(0, size), 2))
    }
    add("HTTPCache.memoryCapacity, diskCapacity") {
      let folder = try ScratchFolder()
      let server = try LoopbackServer()
      defer { server.stop() }
      server.fallback = { _ in .data(Data(count: 10), headers: ["Cache-Control": "max-age=60"]) }
      let manager = Wire.automatic.manager(server)
      manager.httpCache = HTTPCache(memoryCapacity: $0, directory: folder["cache"], diskCapacity: $0)
      for _ in 0..<2 {
        let data = try await manager.send(Probe<Data>())
        #expect(data.count == 10)
      }
      #expect(server.requestCount == ($0 == .max ? 1 : 2))
    }
    add("HAROptions") {
      let options = HAROptions(maximumBodySize: $0, maximumEntries: $0, maximumSize: $0)
      let manager = stub(.data(Data(count: 10)))
      let recorder = HARRecorder(options: options)
      manager.attemptMiddleware = [recorder]
      for _ in 0..<2 { _ = try await manager.send(Probe<Data>()) }
      #expect(recorder.entryCount == ($0 == .max ? 2 : 0))
    }
    add("ReplaySession.maximumSize") { _ = try? ReplaySession(har: Data("{}".utf8), maximumSize: $0) }
    add("NetworkMiddlewareResponse.data(maximumSize:)") { size in
      var response = NetworkMiddlewareResponse(statusCode: 200, data: Data(count: 3))
      let data = try? await response.data(maximumSize: size)
      #expect((data == nil) == (size < 3))
    }
    add("status codes") { status in
      let manager = stub(.status(status))
      _ = try? await manager.send(Probe<StatusCodeResponse>())
      manager.middleware = [Answer(status: status)]
      _ = try? await manager.send(Probe<StatusCodeResponse>())
      manager.middleware = []
      manager.attemptMiddleware = [Answer(status: status)]
      _ = try? await manager.send(Probe<StatusCodeResponse>())
      #expect(HTTPError(statusCode: status, data: Data(), headers: [:]).localizedDescription.contains("\(status)"))
      #expect(OfflineFailure(HTTPError(statusCode: status, data: Data(), headers: [:])) != .cancelled)
    }
    add("PrismOfflineQueueOptions") { number in
      var options = PrismOfflineQueueOptions()
      (options.maximumCount, options.maximumBytes) = (number, Int64(number))
      options.maximumRetryCount = number
      let undelivered = Locked(0)
      options.undelivered = { _, _ in undelivered.withLock { $0 += 1 } }
      let queue = try PrismOfflineQueue(
        directory: nil, delivery: .each { _ in throw URLError(.timedOut) }, autoFlush: false, options: options)
      _ = try? await queue.enqueue(URLRequest(url: url), priority: number)
      // A request without a body counts no bytes.
      #expect(await queue.count == (number > 0 ? 1 : 0))
      for _ in 0..<2 { try? await queue.flush() }
      #expect(undelivered.withLock { $0 } == (number == 1 ? 1 : 0))
    }
    add("PrismOfflineQueueOptions.maximumRetryCount") { number in
      var options = PrismOfflineQueueOptions()
      options.maximumRetryCount = number
      options.undelivered = { _, _ in }
      let queue = try PrismOfflineQueue(
        directory: nil, delivery: .each { _ in throw URLError(.timedOut) }, autoFlush: false, options: options)
      try await queue.enqueue(URLRequest(url: url))
      try? await queue.flush()
      #expect(await queue.count == (number > 0 ? 1 : 0))
    }
    add("PrismQueuedRequest.retryCount, priority") { number in
      let queue = try PrismOfflineQueue(
        directory: nil, delivery: .each { _ in throw URLError(.timedOut) }, autoFlush: false)
      await queue.enqueue(PrismQueuedRequest(urlRequest: URLRequest(url: url), retryCount: number, priority: number))
      await queue.enqueue(PrismQueuedRequest(urlRequest: URLRequest(url: url), priority: 0))
      for _ in 0..<2 { try? await queue.flush() }
      let waiting = await queue.dequeueAll()
      #expect(waiting.count == 2)
      #expect(waiting.allSatisfy { $0.retryCount >= 0 })
    }
    add("PrismNetworkEndpoint.port") { port in
      let url = try? EndpointURL.make(of: ExtremeEndpoint(port: port))
      #expect(url?.port == ((1...65_535).contains(port) ? port : nil))
    }
    add("PrismExponentialBackoff, PrismLinearRetry") { number in
      let backoff = PrismExponentialBackoff(maxAttempts: number)
      #expect((Duration.zero ... .seconds(30)).contains(backoff.delay(for: number)))
      #expect(!backoff.shouldRetry(for: PrismNetworkError.noConnectivity, attempt: max(0, number)))
      let linear = PrismLinearRetry(maxAttempts: number)
      #expect(linear.delay(for: number) == .seconds(2))
      #expect(linear.shouldRetry(for: PrismNetworkError.noConnectivity, attempt: 0) == (number > 0))
    }
    add("RetryPolicy.maxRetryCount") { number in
      let failures = Locked(0)
      let manager = stub(.failure(URLError(.timedOut)))
      let policy = RetryPolicy(maxRetryCount: number) { _ in
        failures.withLock { count in
          count += 1
          return count < 3
        }
      }
      _ = try? await manager.send(Probe<Data>(retryPolicy: policy))
      #expect(failures.withLock { $0 } == (number <= 0 ? 0 : number == 1 ? 1 : 3))
    }
    add("EventReconnectPolicy.maximumFailures") { number in
      let policy = EventReconnectPolicy(maximumFailures: number)
      #expect(delays(policy).count == min(max(0, number), 3))
      var state = EventSourceState(policy: policy)
      state.opened()
      guard case .reconnect = state.lost(because: nil, bodyIsReplayable: true, random: 0) else {
        Issue.record("an opened stream has not failed")
        return
      }
    }
    add("WebSocketReconnectPolicy") { number in
      #expect(delays(WebSocketReconnectPolicy(maximumFailures: number)).count == min(max(0, number), 3))
      var state = ReconnectingConnectionState(maximumCount: number, maximumBytes: number)
      let entered = [state.enter(5), state.enter(5)]
      #expect(entered == [true, number == .max])
    }
    add("StreamingBody.lines, ndjson, events") { maximum in
      #expect(await end(of: lines(maximum).lines(maximumLength: maximum)) == (maximum >= 2))
      #expect(await end(of: lines(maximum).ndjson(as: [String: Int].self, maximumLength: maximum)) == (maximum >= 2))
      let events = StreamingBody(BufferedBody(Data("data\n\n".utf8))).events(maximumLength: maximum)
      #expect(await end(of: events) == (maximum >= 4))
      #expect(await end(of: StreamingBody(BufferedBody(Data("\n\n".utf8))).lines(maximumLength: maximum)))
      #expect(await end(of: StreamingBody(BufferedBody(Data("\n\n".utf8))).events(maximumLength: maximum)))
    }
    add("PrismNetworkSocketAdapter.maximumLineLength") { maximum in
      var splitter = LineSplitter(maximumLength: maximum, keepsBlankLines: true)
      splitter.append(Data("\nab\n".utf8))
      let blank = try splitter.next { bytes, _ in Data(bytes) }
      let line = try? splitter.next { bytes, _ in Data(bytes) }
      #expect(blank == Data())
      #expect(line == (maximum >= 2 ? Data("ab".utf8) : nil))
    }
    add("WebSocketOptions.maximumMessageSize") { number in
      try await echo(hasToArrive: number == .max) { $0.maximumMessageSize = number }
    }
    add("WebSocketOptions.maximumQueued…") { number in
      try await echo(hasToArrive: number == .max) {
        ($0.maximumQueuedMessages, $0.maximumQueuedBytes) = (number, number)
      }
    }
    add("WebSocketCompression") { number in
      var compression = WebSocketCompression(
        clientMaxWindowBits: number, serverMaxWindowBits: number, minimumSize: number)
      for isSet in [false, true] {
        if isSet { (compression.clientMaxWindowBits, compression.serverMaxWindowBits) = (number, number) }
        #expect(compression.clientMaxWindowBits == min(max(9, number), 15))
        #expect(compression.serverMaxWindowBits == min(max(8, number), 15))
      }
      try await echo(hasToArrive: number == .max) { $0.compression = compression }
    }
    add("RequestBody.length") { number in
      try await post { _ in
        RequestBody(stream: InputStream(data: Data("ab".utf8)), contentType: "a/b", length: Int64(number))
      }
      try await post { _ in
        let elements = AsyncStream<Data> {
          $0.yield(Data("ab".utf8))
          $0.finish()
        }
        return RequestBody(sequence: elements, contentType: "a/b", length: Int64(number))
      }
    }
    add("NetworkRequest.maximumResponseSize, maximumInflation") { number in
      let manager = stub(.data(Data(count: 3)))
      let probe = Probe<Data>(maximumResponseSize: Int64(number), maximumInflation: number)
      let error = await #expect(throws: (any Error).self) {
        _ = try await manager.send(probe)
        throw CancellationError()
      }
      #expect((error as? ResponseLimitError)?.limit == (number < 3 ? .size(Int64(max(0, number))) : nil))
      #expect(!InflationMeter(factor: ResponseLimits(inflation: number).inflation).allows(2 << 20))
    }
    add("values") { number in
      let bytes = Int64(number)
      let fraction = PrismUploadProgress(bytesUploaded: bytes, totalBytes: bytes).fractionCompleted
      #expect((0...1).contains(fraction))
      for error: any Error in [
        StreamLineTooLongError(line: number, limitBytes: number),
        ResponseLimitError(limit: .size(bytes), announcedSize: bytes),
        ResponseLimitError(limit: .inflation(number)), DownloadError.incomplete(received: bytes, announced: bytes),
        StreamingError.errorPayloadTooLarge(limitBytes: number), PrismOfflineQueueError.tooManyBytes(limit: bytes),
      ] {
        #expect(error.localizedDescription.contains("\(number)"))
      }
    }
  }

  @Test(arguments: countRows, [Int.min, -1, 0, 1, .max]) func counts(row: Row<Int>, number: Int) async throws {
    try await row.check(number)
  }
}

struct ExtremeEndpoint: PrismNetworkEndpoint {
  var host = "stub.test"
  var path = "/"
  var port: Int?
  var timeoutInterval: TimeInterval?
  var cacheInterval: TimeInterval?
}

/// Middleware that responds itself.
private struct Answer: NetworkMiddleware {
  var status: Int
  func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    NetworkMiddlewareResponse(statusCode: status)
  }
}
