import Foundation

#if canImport(os)
  import os
#endif

/// Sends log entries to the system log on Apple platforms, and to the user's handler, if there is one.
///
/// No entry is created while there is no listener.
struct NetworkLogger: Sendable {
  private struct State {
    var handler: NetworkLogHandler?
    var lastRequest: UInt64 = 0
  }

  private let state = Locked(State())
  #if canImport(os)
    private let systemLog: SystemLog

    /// Sendable, unchecked: an `OSLog` never changes, and its functions may be called on any thread.
    private struct SystemLog: @unchecked Sendable {
      let log: OSLog
    }
  #endif

  init(subsystem: String, category: String = "network") {
    #if canImport(os)
      systemLog = SystemLog(log: OSLog(subsystem: subsystem, category: category))
    #endif
  }

  /// The user's handler. Copies of the logger share it.
  var handler: NetworkLogHandler? {
    get { state.withLock { $0.handler } }
    nonmutating set { state.replace(\.handler, with: newValue) }
  }

  var hasListeners: Bool { handler != nil || isWrittenToSystemLog(.error) }

  private func isWrittenToSystemLog(_ level: NetworkLogEntry.Level) -> Bool {
    #if canImport(os)
      systemLog.log.isEnabled(type: OSLogType(rawValue: level.systemLogNumber))
    #else
      false
    #endif
  }

  /// Returns a number that distinguishes the entries of concurrent requests.
  func nextRequest() -> UInt64 { state.withLock { $0.lastRequest.increment() } }

  func log(
    _ level: NetworkLogEntry.Level,
    _ message: @autoclosure () -> String,
    _ metadata: @autoclosure () -> [String: String] = [:]
  ) {
    let (handler, isWritten) = (handler, isWrittenToSystemLog(level))
    guard handler != nil || isWritten else { return }
    let entry = NetworkLogEntry(level: level, message: message(), metadata: metadata())
    handler?(entry)
    #if canImport(os)
      if isWritten {
        // Public, because everything private was left out when the entry was created.
        Logger(systemLog.log).log(level: OSLogType(rawValue: level.systemLogNumber), "\(entry.line, privacy: .public)")
      }
    #endif
  }
}

extension NetworkLogEntry {
  /// The entry in one line, its metadata in a stable order.
  var line: String { metadata.sorted { $0.key < $1.key }.reduce(into: message) { $0 += " \($1.key)=\($1.value)" } }
}

extension NetworkLogEntry.Level {
  /// The raw value of the `OSLogType`, as defined in `os/log.h`.
  var systemLogNumber: UInt8 {
    switch self {
    case .debug: 0x02
    case .info: 0x01
    case .error: 0x10
    }
  }
}

/// Reports one request to the log and the event handler, from its start to its end.
struct RequestLog: Sendable {
  private let logger: NetworkLogger
  private let handler: NetworkEventHandler?
  private let request: UInt64
  private let method: String
  private let start = ContinuousInstant.now
  /// What the last attempt was about, for the entry of its failure.
  private let last = Locked<(url: URL?, status: Int?)>((nil, nil))
  /// Whether the request is sent again if the stream of its response is lost, as that of a subscription.
  var isReconnecting = false

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

  var wantsTimings: Bool { handler != nil }

  func started(_ url: URL, attempt: Int) {
    last.withLock { $0 = (url, nil) }
    report(.attemptStarted(url: url, attempt: attempt))
    logger.log(.debug, "Request started", base(["url": url.redactedForLog, "attempt": "\(attempt)"]))
  }

  func redirected(status: Int, to url: URL) {
    last.withLock { $0.url = url }
    report(.redirected(status: status, to: url))
    logger.log(.debug, "Request redirected", base(["status": "\(status)", "url": url.redactedForLog]))
  }

  func received(status: Int?) { last.withLock { $0.status = status } }

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
      failure(["attempt": "\(attempt)", "delay": delay.inSecondsForLog, "error": error.redactedForLog]))
  }

  func finished(status: Int, bytes: Int64, timings: NetworkTimings?, head: ResponseHead? = nil) {
    let elapsed = elapsed
    report(
      .finished(status: status, bytes: bytes, timings: timings ?? NetworkTimings(total: elapsed)),
      cacheStatus: head?.value("cache-status"))
    logger.log(
      .debug, "Request finished",
      base(["status": "\(status)", "bytes": "\(bytes)", "duration": elapsed.inSecondsForLog]))
  }

  @inline(never)
  func finished(_ response: CollectedResponse) {
    finished(
      status: response.head.statusCode ?? 0, bytes: Int64(response.data.count), timings: response.timings,
      head: response.head)
  }

  /// Reports that the request failed. A cancellation is not logged as an error, nor is a stream that is requested again.
  func failed(_ error: any Error) {
    let error = Self.cause(of: error)
    report(.failed(error))
    let isLostStream = isReconnecting && last.withLock { $0.status } == 200 && FailureKind(error) == .temporary
    let (level, message): (NetworkLogEntry.Level, String) =
      error.isCancellation
      ? (.debug, "Request cancelled") : isLostStream ? (.info, "Event stream lost") : (.error, "Request failed")
    logger.log(level, message, failure(["error": error.redactedForLog, "duration": elapsed.inSecondsForLog]))
  }

  /// Returns the underlying error of a failure, which identifies it by a type and a code.
  private static func cause(of error: any Error) -> any Error {
    (error as? PrismNetworkFailure)?.underlyingError ?? error
  }

  private var elapsed: Duration { .now - start }

  private func report(_ kind: @autoclosure () -> NetworkEvent.Kind, cacheStatus: @autoclosure () -> String? = nil) {
    handler?(NetworkEvent(request: request, method: method, elapsed: elapsed, kind: kind(), cacheStatus: cacheStatus()))
  }

  private func failure(_ metadata: [String: String]) -> [String: String] {
    let (url, status) = last.withLock { $0 }
    var metadata = base(metadata)
    metadata["url"] = url?.redactedForLog
    metadata["status"] = status.map { "\($0)" }
    return metadata
  }

  private func base(_ metadata: [String: String]) -> [String: String] {
    metadata.merging(["request": "\(request)", "method": method]) { own, _ in own }
  }
}

extension Duration {
  fileprivate var inSecondsForLog: String {
    let (seconds, attoseconds) = components
    let milliseconds = abs(attoseconds / 1_000_000_000_000_000)
    return "\(self < .zero && seconds == 0 ? "-" : "")\(seconds).\(milliseconds.text(digits: 3))"
  }
}

extension Error {
  /// The type and code of the error, without its text, which may quote a URL, a header field or a body.
  var redactedForLog: String {
    if let code = urlErrorCode { return "URLError \(code.rawValue)" }
    switch self {
    case let error as HTTPError: return "HTTPError \(error.statusCode)"
    case let error as NetworkError: return "NetworkError \(error)"
    case is CancellationError: return "CancellationError"
    default:
      let error = self as NSError
      return "\(type(of: self)) \(error.code)"
    }
  }
}

/// The header fields whose values are shown only if secrets are revealed.
enum SecretFields {
  static func contains(_ name: String) -> Bool {
    let name = name.lowercased()
    // Hiding a harmless value as well, such as that of an `Idempotency-Key`, does no harm.
    return name.contains("key") || OriginFields.isOneTime(name) || OriginFields.contains(name) && name != "host"
  }
}
