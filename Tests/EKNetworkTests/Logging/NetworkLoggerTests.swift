import Dispatch
import Foundation
import Testing

@testable import EKNetwork

struct NetworkLoggerTests {
  private final class Recorder: Sendable {
    private let recorded = Locked([NetworkLogEntry]())
    var entries: [NetworkLogEntry] { recorded.withLock { $0 } }
    var handler: NetworkLogHandler { { entry in self.recorded.withLock { $0.append(entry) } } }
  }

  #if !canImport(os)
    @Test func messagesAreNotBuiltWithoutHandler() {
      let logger = NetworkLogger(subsystem: "test")
      var made = 0
      func text() -> String {
        made += 1
        return ""
      }
      logger.log(.error, text(), [text(): text()])
      #expect(made == 0)
      logger.handler = { _ in }
      logger.log(.error, text(), [text(): text()])
      #expect(made == 3)
      logger.handler = nil
      logger.log(.error, text())
      #expect(made == 3)
    }
  #endif

  @Test func handlerMayUseTheLogger() {
    let logger = NetworkLogger(subsystem: "test")
    let recorder = Recorder()
    logger.handler = { entry in
      recorder.handler(entry)
      logger.handler = nil
      logger.log(.debug, "within")
    }
    logger.log(.info, "once", ["b": "2", "a": "1"])
    logger.log(.info, "twice")
    #expect(recorder.entries == [NetworkLogEntry(level: .info, message: "once", metadata: ["a": "1", "b": "2"])])
    #expect(recorder.entries.first?.line == "once a=1 b=2")
  }

  @Test func copiesShareHandlerAcrossThreads() {
    let logger = NetworkLogger(subsystem: "test")
    let recorder = Recorder()
    let copy = logger
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for _ in 0..<100 {
        if thread == 0 { copy.handler = recorder.handler }
        logger.log(.debug, "message")
      }
    }
    #expect(!recorder.entries.isEmpty)
  }

  @Test func requestEventsAreLogged() throws {
    let logger = NetworkLogger(subsystem: "test")
    let recorder = Recorder()
    let url = try #require(URL(string: "https://user:secret@example.com/a?token=secret"))

    #expect(RequestLog(logger, method: "GET") == nil, "nobody listens")
    logger.handler = recorder.handler
    let log = try #require(RequestLog(logger, method: "GET"))
    log.started(url, attempt: 1)
    log.redirected(status: 307, to: url)
    log.refreshingToken()
    log.retrying(attempt: 2, after: .milliseconds(1042), error: URLError(.timedOut))
    log.finished(status: 200, bytes: 57, timings: nil)
    log.received(status: 503)
    log.failed(NetworkError.emptyResponse)
    log.started(url, attempt: 2)
    log.failed(CancellationError())
    RequestLog(logger, method: "PUT")?.refreshingToken()

    let place = "url=https://example.com/a?token=<redacted>"
    #expect(
      recorder.entries.map { $0.line.replacing(/duration=\d+\.\d{3}/, with: "duration=…") } == [
        "Request started attempt=1 method=GET request=1 \(place)",
        "Request redirected method=GET request=1 status=307 \(place)",
        "Refreshing the access token method=GET request=1",
        "Retrying the request attempt=2 delay=1.042 error=URLError -1001 method=GET request=1 \(place)",
        "Request finished bytes=57 duration=… method=GET request=1 status=200",
        "Request failed duration=… error=NetworkError emptyResponse method=GET request=1 status=503 \(place)",
        "Request started attempt=2 method=GET request=1 \(place)",
        "Request cancelled duration=… error=CancellationError method=GET request=1 \(place)",
        "Refreshing the access token method=PUT request=2",
      ])
    #expect(recorder.entries.map(\.level) == [.debug, .debug, .info, .info, .debug, .error, .debug, .debug, .info])
  }

  @Test func levelsMapToSystemLogNumbers() {
    #expect([NetworkLogEntry.Level.debug, .info, .error].map(\.systemLogNumber) == [0x02, 0x01, 0x10])
  }

  @Test func datesInWrongOrderGiveNoDuration() {
    let start = Date(timeIntervalSinceReferenceDate: 100)
    #expect(Duration(from: start, to: start + 0.25) == .milliseconds(250))
    #expect(Duration(from: start, to: start) == .zero)
    #expect(Duration(from: start, to: start - 1) == nil)
    #expect(Duration(from: nil, to: start) == nil)
    #expect(Duration(from: start, to: nil) == nil)
  }
}
