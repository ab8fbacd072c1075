/// How a subscription to server-sent events is kept alive.
public struct EventReconnectPolicy: Sendable, Equatable {
  /// How long to wait before reconnecting, unless the server has said so with `retry`.
  public var initialDelay: Duration
  /// The longest wait after repeated failures, and the most that a server's `Retry-After` is granted.
  public var maximumDelay: Duration
  /// How many attempts in a row may fail; the error of the next one is thrown. `nil` for no limit. An attempt that opens
  /// a stream is none that failed, whether an event comes or not.
  public var maximumFailures: Int?

  /// A policy.
  ///
  /// - Parameters:
  ///   - initialDelay: Defaults to 3 seconds. It doubles with each attempt that fails, less a random share of up to a
  ///     half. The server's `retry` takes its place, half a second at least; the first wait is then exactly that.
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
