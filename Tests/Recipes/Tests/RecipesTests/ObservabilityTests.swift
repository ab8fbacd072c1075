import EKNetwork
import HTTPTypes
import Hummingbird
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import Testing
import Tracing

@testable import Recipes

@Suite(.serialized) struct ObservabilityTests {
  private static let metrics: TestMetrics = {
    let metrics = TestMetrics()
    MetricsSystem.bootstrap(metrics)
    return metrics
  }()
  private static let tracer: InMemoryTracer = {
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    return tracer
  }()

  @Test func entriesReachTheLogger() async throws {
    let lines = Lines()
    var logger = Logger(label: "test") { _ in LineHandler(lines: lines) }
    logger.logLevel = .debug
    let router = Router()
    router.get("ping") { _, _ in HTTPResponse.Status.ok }
    try await withServer(router) { [logger] url in
      let manager = NetworkManager(baseURL: url)
      manager.log(to: logger)
      _ = try await manager.send(Ping(), accessToken: { "secret" })
      await #expect(throws: EKNetwork.HTTPError.self) { try await manager.send(Ping(path: "/nowhere")) }
    }
    let all = lines.all
    #expect(all.contains { $0.contains("debug Request finished") && $0.contains("status: 200") })
    #expect(all.contains { $0.contains("error Request failed") })
    #expect(!all.contains { $0.contains("secret") })
  }

  @Test func requestsAreCountedAndTimed() async throws {
    let metrics = Self.metrics
    let router = Router()
    router.get("ping") { _, _ in "0123456789" }
    router.get("broken") { _, _ in HTTPResponse.Status.serviceUnavailable }
    try await withServer(router) { url in
      let manager = NetworkManager(baseURL: url)
      manager.measure()
      for _ in 0..<3 { _ = try await manager.send(Ping()) }
      let retried = Ping(path: "/broken", retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 0))
      await #expect(throws: EKNetwork.HTTPError.self) { try await manager.send(retried) }
    }
    let done = [("method", "GET"), ("status", "200")]
    let timer = try metrics.expectTimer("http_client_request_duration", done)
    #expect(timer.values.count == 3)
    #expect(timer.values.allSatisfy { $0 > 0 })
    #expect(try metrics.expectRecorder("http_client_response_size", done).values == [10, 10, 10])
    #expect(try metrics.expectCounter("http_client_retries", [("method", "GET")]).totalValue == 2)
    let failed = [("method", "GET"), ("error", "HTTPError")]
    #expect(try metrics.expectCounter("http_client_failures", failed).totalValue == 1)
  }

  @Test func eachAttemptIsASpan() async throws {
    let tracer = Self.tracer
    let seen = Book<String?>()
    let router = Router()
    router.get("ping") { request, _ in
      await seen.add(HTTPField.Name(InMemoryTracer.spanIDKey).flatMap { request.headers[$0] })
      return HTTPResponse.Status.serviceUnavailable
    }
    let traceID = try await withServer(router) { url in
      let manager = NetworkManager(baseURL: url)
      manager.attemptMiddleware = [ClientSpans()]
      return await withSpan("work") { span in
        let ping = Ping(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
        await #expect(throws: EKNetwork.HTTPError.self) { try await manager.send(ping) }
        return span.context.inMemorySpanContext?.traceID
      }
    }
    let spans = tracer.finishedSpans.filter { $0.operationName == "GET" && $0.traceID == traceID }
    #expect(spans.count == 2)
    #expect(await seen.entries == spans.map(\.spanID))
    for span in spans {
      #expect(span.kind == .client)
      #expect(span.status?.code == .error)
      #expect(span.attributes["http.response.status_code"]?.toSpanAttribute() == .int64(503))
    }
  }
}

/// The lines of a log. Unchecked: `lock` protects them.
private final class Lines: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []
  var all: [String] { lock.withLock { lines } }
  func add(_ line: String) { lock.withLock { lines.append(line) } }
}

private struct LineHandler: LogHandler {
  let lines: Lines
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.debug

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let metadata = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    lines.add("\(event.level) \(event.message) \(metadata.joined(separator: ", "))")
  }
}
