import Foundation

/// What the log and the event handler receive about one request, from its start to its end.
struct RequestLog: Sendable {
  private let logger: NetworkLogger
  private let handler: NetworkEventHandler?
  private let request: UInt64
  private let method: String
  private let start = ContinuousClock.now

  /// `nil` where nobody listens: who begins to listen later hears of the requests that begin later.
  ///
  /// - Parameter implementation: What carries the requests. The first one says so in the log.
  init?(
    _ logger: NetworkLogger, method: String, handler: NetworkEventHandler? = nil,
    implementation: @autoclosure () -> TransportDescription? = nil
  ) {
    guard handler != nil || logger.hasListeners else { return nil }
    self.logger = logger
    self.handler = handler
    self.method = method
    request = logger.nextRequest()
    if request == 1, logger.hasListeners, let implementation = implementation() {
      logger.log(implementation.reason == nil ? .debug : .info, "Transport in use", implementation.metadata)
    }
  }

  /// Whether the parts of an exchange are to be timed.
  var wantsTimings: Bool { handler != nil }

  /// An attempt is sent, the first of which is number 1.
  func started(_ url: URL, attempt: Int) {
    report(.attemptStarted(url: url, attempt: attempt))
    logger.log(.debug, "Request started", base(["url": url.redactedForLog, "attempt": "\(attempt)"]))
  }

  /// The server redirected, and the request follows.
  func redirected(status: Int, to url: URL) {
    report(.redirected(status: status, to: url))
    logger.log(.debug, "Request redirected", base(["status": "\(status)", "url": url.redactedForLog]))
  }

  /// The server responded with 401, and the request waits for a new token.
  func refreshingToken() {
    report(.refreshingToken)
    logger.log(.info, "Refreshing the access token", base([:]))
  }

  /// An attempt failed and is repeated; `attempt` is the number of the next one.
  func retrying(attempt: Int, after delay: Duration, error: any Error) {
    let error = Self.cause(of: error)
    report(.retrying(attempt: attempt, after: delay, error: error))
    logger.log(
      .info, "Retrying the request",
      base(["attempt": "\(attempt)", "delay": delay.inSecondsForLog, "error": error.redactedForLog]))
  }

  /// The whole response is there.
  func finished(status: Int, bytes: Int64, timings: NetworkTimings?, head: ResponseHead? = nil) {
    let elapsed = elapsed
    report(
      .finished(status: status, bytes: bytes, timings: timings ?? NetworkTimings(total: elapsed)),
      cacheStatus: head?.value("cache-status"))
    logger.log(
      .debug, "Request finished",
      base(["status": "\(status)", "bytes": "\(bytes)", "duration": elapsed.inSecondsForLog]))
  }

  /// The request ends in an error. A cancellation is not one that needs attention.
  func failed(_ error: any Error) {
    let error = Self.cause(of: error)
    report(.failed(error))
    logger.log(
      error.isCancellation ? .debug : .error, error.isCancellation ? "Request cancelled" : "Request failed",
      base(["error": error.redactedForLog, "duration": elapsed.inSecondsForLog]))
  }

  /// A failure takes many forms, its cause a type and a code.
  private static func cause(of error: any Error) -> any Error {
    (error as? PrismNetworkFailure)?.underlyingError ?? error
  }

  private var elapsed: Duration { .now - start }

  private func report(_ kind: @autoclosure () -> NetworkEvent.Kind, cacheStatus: @autoclosure () -> String? = nil) {
    handler?(
      NetworkEvent(request: request, method: method, elapsed: elapsed, kind: kind(), cacheStatus: cacheStatus()))
  }

  private func base(_ metadata: [String: String]) -> [String: String] {
    metadata.merging(["request": "\(request)", "method": method]) { own, _ in own }
  }
}

extension Duration {
  /// Seconds with three decimals.
  fileprivate var inSecondsForLog: String {
    let (seconds, attoseconds) = components
    let milliseconds = abs(attoseconds / 1_000_000_000_000_000)
    let padding = milliseconds < 10 ? "00" : milliseconds < 100 ? "0" : ""
    return "\(self < .zero && seconds == 0 ? "-" : "")\(seconds).\(padding)\(milliseconds)"
  }
}
