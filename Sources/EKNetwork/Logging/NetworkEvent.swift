import Foundation

/// An event of a request with all its details, for metrics and traces.
///
/// Unlike a ``NetworkLogEntry``, it contains URLs and errors unredacted, including secrets.
public struct NetworkEvent: Sendable {
  /// The kind of an event.
  public enum Kind: Sendable {
    /// An attempt is being sent; the first is number 1.
    case attemptStarted(url: URL, attempt: Int)
    /// The server redirected, and the request follows.
    case redirected(status: Int, to: URL)
    /// The server responded with 401, and the request waits for a new token.
    case refreshingToken
    /// An attempt failed with `error`; attempt number `attempt` is sent after the delay.
    case retrying(attempt: Int, after: Duration, error: any Error)
    /// The complete response has been received; `bytes` is the size of its body after content decoding. For a stream,
    /// its last byte has been read.
    case finished(status: Int, bytes: Int64, timings: NetworkTimings)
    /// The request failed with an error, which may be `CancellationError`.
    case failed(any Error)
  }

  /// The number of the request, which all its events share; requests are numbered in the order in which they start.
  public let request: UInt64
  /// The request method.
  public let method: String
  /// The time since the request was started, including earlier attempts.
  public let elapsed: Duration
  /// The kind of the event.
  public let kind: Kind
  /// For `finished`: the response's `Cache-Status` field (RFC 9211), whose last member is that of the ``HTTPCache``, if
  /// there is one.
  public let cacheStatus: String?

  /// Creates an event as the library reports it, for tests.
  public init(request: UInt64, method: String, elapsed: Duration, kind: Kind, cacheStatus: String? = nil) {
    self.request = request
    self.method = method
    self.elapsed = elapsed
    self.kind = kind
    self.cacheStatus = cacheStatus
  }
}

/// A closure that receives events, on any thread and possibly concurrently. It must return quickly: the request waits
/// for it.
public typealias NetworkEventHandler = @Sendable (NetworkEvent) -> Void

/// A log entry about a request.
///
/// Tokens, header values, bodies and the values of query items never appear in it.
public struct NetworkLogEntry: Sendable, Equatable {
  /// The severity of an entry.
  public enum Level: Int, Sendable, Equatable, Comparable, CaseIterable {
    /// The normal course of a request: it starts, is redirected, finishes.
    case debug
    /// An unusual event that was handled: a retry, a token refresh, an event stream that is lost and requested again.
    case info
    /// A request that failed.
    case error

    /// Orders the levels by severity.
    public static func < (lhs: Level, rhs: Level) -> Bool { lhs.rawValue < rhs.rawValue }
  }

  /// The severity of the entry.
  public let level: Level
  /// The message, one of a few constant texts.
  public let message: String
  /// The details, such as `request` (a number that its entries share), `method`, `url`, `status`, `bytes`, `duration`
  /// and `delay` (in seconds), `attempt`, `error`.
  public let metadata: [String: String]

  /// Creates an entry as the library logs it, for tests.
  public init(level: Level, message: String, metadata: [String: String] = [:]) {
    self.level = level
    self.message = message
    self.metadata = metadata
  }
}

/// A closure that receives log entries, on any thread and possibly concurrently. It must return quickly: the request
/// waits for it.
public typealias NetworkLogHandler = @Sendable (NetworkLogEntry) -> Void
