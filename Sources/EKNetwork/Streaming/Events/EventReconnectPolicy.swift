/// How a subscription to server-sent events is kept alive.
public struct EventReconnectPolicy: Sendable, Equatable {
  /// How long to wait before reconnecting, unless the server has said so with `retry`.
  public var initialDelay: Duration
  /// The longest wait after repeated failures, and the most that a server's `Retry-After` is granted.
  public var maximumDelay: Duration
  /// After how many attempts in a row without an event the last error is thrown; `nil` for never.
  public var maximumFailures: Int?

  /// A policy.
  ///
  /// - Parameters:
  ///   - initialDelay: Defaults to 3 seconds. It doubles with each attempt that brings no event, less a random share
  ///     of up to a half. The server's `retry` takes its place; the first wait is then exactly that.
  ///   - maximumDelay: Defaults to a minute.
  ///   - maximumFailures: Defaults to `nil`, as in a browser: an unreachable server is tried for ever.
  public init(
    initialDelay: Duration = .seconds(3), maximumDelay: Duration = .seconds(60), maximumFailures: Int? = nil
  ) {
    self.initialDelay = initialDelay
    self.maximumDelay = maximumDelay
    self.maximumFailures = maximumFailures
  }
}
