/// When a ``ReconnectingWebSocket`` opens a new connection, and how much it keeps to be sent on it.
public struct WebSocketReconnectPolicy: Sendable {
  /// The wait before the first new attempt. It doubles with each attempt in a row that fails, less a random share of
  /// up to a half.
  public var initialDelay: Duration
  /// The longest wait, and the most that a server's `Retry-After` is granted. A connection that has lasted as long
  /// resets the count, as one does that has brought a message.
  public var maximumDelay: Duration
  /// After how many failures in a row the last error is thrown; `nil` for never.
  public var maximumFailures: Int?
  /// The close codes after which there is no new connection: the server's, or those with which its own breach of the
  /// protocol was answered. Add the private ones that your server means so.
  public var finalCodes: Set<WebSocketCloseCode>
  /// How many messages may wait to be sent, the one that is being sent included. Another is refused with
  /// ``WebSocketError/sendQueueFull``.
  public var maximumPendingMessages: Int
  /// How many bytes they may have. One message alone may have more.
  public var maximumPendingBytes: Int
  /// What the jitter is made of: a number from 0 to 1.
  var random: @Sendable () -> Double = { .random(in: 0...1) }

  /// A policy.
  ///
  /// - Parameters:
  ///   - initialDelay: Defaults to a second.
  ///   - maximumDelay: Defaults to a minute.
  ///   - maximumFailures: Defaults to `nil`: an unreachable server is tried for ever.
  ///   - finalCodes: Defaults to ``defaultFinalCodes``.
  ///   - maximumPendingMessages: Defaults to 1024.
  ///   - maximumPendingBytes: Defaults to 16 MiB.
  public init(
    initialDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(60), maximumFailures: Int? = nil,
    finalCodes: Set<WebSocketCloseCode> = WebSocketReconnectPolicy.defaultFinalCodes,
    maximumPendingMessages: Int = 1024, maximumPendingBytes: Int = 16 << 20
  ) {
    self.initialDelay = initialDelay
    self.maximumDelay = maximumDelay
    self.maximumFailures = maximumFailures
    self.finalCodes = finalCodes
    self.maximumPendingMessages = maximumPendingMessages
    self.maximumPendingBytes = maximumPendingBytes
  }

  /// The codes that say that all is done, or that the same would happen again (RFC 6455 §7.4.1 and the registry of
  /// §11.7): 1000, 1002, 1003, 1007, 1008, 1009, 1010, 3000 (unauthorized) and 3003 (forbidden).
  public static let defaultFinalCodes: Set<WebSocketCloseCode> = [
    .normalClosure, .protocolError, .unsupportedData, .invalidPayload, .policyViolation, .messageTooBig,
    .missingExtension, WebSocketCloseCode(rawValue: 3000), WebSocketCloseCode(rawValue: 3003),
  ]
}
