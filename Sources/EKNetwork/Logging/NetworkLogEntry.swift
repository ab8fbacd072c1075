/// One thing that happened to a request, for a log.
///
/// Tokens, header values, bodies and the values of query items never appear in it.
public struct NetworkLogEntry: Sendable, Equatable {
  /// How much an entry matters.
  public enum Level: Int, Sendable, Equatable, Comparable, CaseIterable {
    /// What every request does: it starts, is redirected, finishes.
    case debug
    /// What is not usual but was dealt with: a retry, a token refresh.
    case info
    /// A request that failed.
    case error

    /// Orders the levels by weight.
    public static func < (lhs: Level, rhs: Level) -> Bool { lhs.rawValue < rhs.rawValue }
  }

  /// How much the entry matters.
  public let level: Level
  /// What happened: one of a few constant texts.
  public let message: String
  /// The circumstances, such as `request` (a number that its entries share), `method`, `url`, `status`, `bytes`,
  /// `duration` and `delay` (in seconds), `attempt`, `error`.
  public let metadata: [String: String]

  /// An entry as the library would make it, for tests.
  public init(level: Level, message: String, metadata: [String: String] = [:]) {
    self.level = level
    self.message = message
    self.metadata = metadata
  }
}

/// Receives log entries, on any thread and several at once. It must return quickly: a request waits for it.
public typealias NetworkLogHandler = @Sendable (NetworkLogEntry) -> Void
