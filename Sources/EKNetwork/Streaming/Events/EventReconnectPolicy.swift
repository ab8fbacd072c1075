/// A policy for how a subscription to server-sent events reconnects.
public struct EventReconnectPolicy: Sendable, Equatable {
  /// The delay before reconnecting, at least 100 milliseconds, unless the server has set one with `retry`.
  public var initialDelay: Duration
  /// The limit up to which the delay doubles, and for a server's `Retry-After`. A longer ``initialDelay``, or a longer
  /// `retry` of the server, is not shortened.
  public var maximumDelay: Duration
  /// The maximum number of consecutive failed attempts; the error of the next one is thrown. A negative number counts
  /// as zero; `nil` for no limit. An attempt that opens a stream has not failed, whether or not an event arrives.
  public var maximumFailures: Int?

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - initialDelay: Defaults to 3 seconds. It doubles with each failed attempt and is reduced at random by up to a
  ///     half. The server's `retry` replaces it, at least half a second; the first delay is then exactly that.
  ///   - maximumDelay: Defaults to a minute.
  ///   - maximumFailures: Defaults to `nil`, as in a browser: an unreachable server is retried forever.
  public init(
    initialDelay: Duration = .seconds(3), maximumDelay: Duration = .seconds(60), maximumFailures: Int? = nil
  ) {
    self.initialDelay = initialDelay
    self.maximumDelay = maximumDelay
    self.maximumFailures = maximumFailures
  }
}
