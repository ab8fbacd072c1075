/// A log entry about a request.
///
/// Tokens, header values, bodies and the values of query items never appear in it.
public struct NetworkLogEntry: Sendable, Equatable {
  /// The severity of an entry.
  public enum Level: Int, Sendable, Equatable, Comparable, CaseIterable {
    /// The normal course of a request: it starts, is redirected, finishes.
    case debug
    /// An unusual event that was handled: a retry, a token refresh.
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
