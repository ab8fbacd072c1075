import Foundation

/// Reports one request to the log and the event handler, from its start to its end.
struct RequestLog: Sendable {
  private let logger: NetworkLogger
  private let handler: NetworkEventHandler?
  private let request: UInt64
  private let method: String
  private let start = ContinuousClock.now

  /// Returns `nil` if there is no listener: a listener that is added later receives only requests that start later.
  ///
  /// - Parameter implementation: The transport implementation, which the first request writes to the log.
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

  /// Whether to measure the phases of an exchange.
  var wantsTimings: Bool { handler != nil }

  /// Reports that an attempt is being sent; the first is number 1.
  func started(_ url: URL, attempt: Int) {
    report(.attemptStarted(url: url, attempt: attempt))
    logger.log(.debug, "Request started", base(["url": url.redactedForLog, "attempt": "\(attempt)"]))
  }

  /// Reports that the server redirected and the request follows.
  func redirected(status: Int, to url: URL) {
    report(.redirected(status: status, to: url))
    logger.log(.debug, "Request redirected", base(["status": "\(status)", "url": url.redactedForLog]))
  }

  /// Reports that the server responded with 401 and the request waits for a new token.
  func refreshingToken() {
    report(.refreshingToken)
    logger.log(.info, "Refreshing the access token", base([:]))
  }

  /// Reports that an attempt failed and is repeated; `attempt` is the number of the next one.
  func retrying(attempt: Int, after delay: Duration, error: any Error) {
    let error = Self.cause(of: error)
    report(.retrying(attempt: attempt, after: delay, error: error))
    logger.log(
      .info, "Retrying the request",
      base(["attempt": "\(attempt)", "delay": delay.inSecondsForLog, "error": error.redactedForLog]))
  }

  /// Reports that the complete response has arrived.
  func finished(status: Int, bytes: Int64, timings: NetworkTimings?, head: ResponseHead? = nil) {
    let elapsed = elapsed
    report(
      .finished(status: status, bytes: bytes, timings: timings ?? NetworkTimings(total: elapsed)),
      cacheStatus: head?.value("cache-status"))
    logger.log(
      .debug, "Request finished",
      base(["status": "\(status)", "bytes": "\(bytes)", "duration": elapsed.inSecondsForLog]))
  }

  /// Reports that the request failed. A cancellation is not logged as an error.
  func failed(_ error: any Error) {
    let error = Self.cause(of: error)
    report(.failed(error))
    logger.log(
      error.isCancellation ? .debug : .error, error.isCancellation ? "Request cancelled" : "Request failed",
      base(["error": error.redactedForLog, "duration": elapsed.inSecondsForLog]))
  }

  /// Returns the underlying error of a failure, which identifies it by a type and a code.
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
  /// The duration in seconds with three decimals.
  fileprivate var inSecondsForLog: String {
    let (seconds, attoseconds) = components
    let milliseconds = abs(attoseconds / 1_000_000_000_000_000)
    let padding = milliseconds < 10 ? "00" : milliseconds < 100 ? "0" : ""
    return "\(self < .zero && seconds == 0 ? "-" : "")\(seconds).\(padding)\(milliseconds)"
  }
}
