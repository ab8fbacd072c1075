import Foundation

/// What a log is told about one request, from its start to its end.
struct RequestLog: Sendable {
  private let logger: NetworkLogger
  private let request: UInt64
  private let method: String

  init(_ logger: NetworkLogger, method: String) {
    self.logger = logger
    self.method = method
    request = logger.nextRequest()
  }

  /// An attempt is sent, the first of which is number 1.
  func started(_ url: URL, attempt: Int) {
    logger.log(.debug, "Request started", base(["url": url.redactedForLog, "attempt": "\(attempt)"]))
  }

  /// The server redirected, and the request follows.
  func redirected(status: Int, to url: URL) {
    logger.log(.debug, "Request redirected", base(["status": "\(status)", "url": url.redactedForLog]))
  }

  /// The server answered 401, and the request waits for a new token.
  func refreshingToken() {
    logger.log(.info, "Refreshing the access token", base([:]))
  }

  /// An attempt failed and is repeated; `attempt` is the number of the next one.
  func retrying(attempt: Int, after delay: Duration, error: any Error) {
    logger.log(
      .info, "Retrying the request",
      base(["attempt": "\(attempt)", "delay": delay.inSecondsForLog, "error": error.redactedForLog]))
  }

  /// The whole answer is there.
  func finished(status: Int, bytes: Int64, duration: Duration) {
    logger.log(
      .debug, "Request finished",
      base(["status": "\(status)", "bytes": "\(bytes)", "duration": duration.inSecondsForLog]))
  }

  /// The request ends in an error. A cancellation is not one that needs attention.
  func failed(_ error: any Error, duration: Duration) {
    logger.log(
      error.isCancellation ? .debug : .error, error.isCancellation ? "Request cancelled" : "Request failed",
      base(["error": error.redactedForLog, "duration": duration.inSecondsForLog]))
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
