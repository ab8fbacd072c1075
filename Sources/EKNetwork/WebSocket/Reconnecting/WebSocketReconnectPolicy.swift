/// A policy for when a ``ReconnectingWebSocket`` reconnects, and how much it keeps to send on the next connection.
public struct WebSocketReconnectPolicy: Sendable {
  /// The delay before the first new attempt, at least 100 milliseconds. It doubles with each consecutive failure and is
  /// reduced at random by up to a half.
  public var initialDelay: Duration
  /// The maximum delay, also for a server's `Retry-After`. A connection that has lasted this long resets the number of
  /// failures, and so does one that has received a message. At least 100 milliseconds, at most a year.
  public var maximumDelay: Duration
  /// The maximum number of consecutive failures; the error of the next one is thrown. A negative number counts as zero.
  /// `nil` for no limit.
  public var maximumFailures: Int?
  /// The close codes after which it does not reconnect, whether the server sent them or they were sent in response to a
  /// protocol violation. Add the private codes that your server uses for a permanent close.
  public var finalCodes: Set<WebSocketCloseCode>
  /// The maximum number of messages that wait to be sent, including the one being sent. Another one is refused with
  /// ``WebSocketError/sendQueueFull``. At least one.
  public var maximumPendingMessages: Int
  /// The maximum total size in bytes of the messages that wait to be sent. A single message may be larger: with
  /// zero or less, one message at a time is accepted.
  public var maximumPendingBytes: Int
  /// A closure that renews the token when the handshake is refused with 401, given that response with up to the first KiB of its
  /// body. Then the request is created again, and sent at once; if it is refused with 401 again, the WebSocket ends. An error
  /// that it throws has the meaning of one of the closure that creates the request. Like that, it is cancelled when the
  /// WebSocket is closed, and not waited for. Defaults to `nil`: a 401 ends the WebSocket.
  public var refreshToken: (@Sendable (NetworkResponse) async throws -> Void)?
  /// The source of the jitter: returns a number from 0 to 1.
  var random: @Sendable () -> Double = { .random(in: 0...1) }

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - initialDelay: Defaults to a second.
  ///   - maximumDelay: Defaults to a minute.
  ///   - maximumFailures: Defaults to `nil`: an unreachable server is retried forever.
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

  /// The codes that indicate completion or a failure that would repeat itself (RFC 6455 §7.4.1 and the registry of
  /// §11.7): 1000, 1002, 1003, 1007, 1008, 1009, 1010, 3000 (unauthorized) and 3003 (forbidden).
  public static let defaultFinalCodes: Set<WebSocketCloseCode> = [
    .normalClosure, .protocolError, .unsupportedData, .invalidPayload, .policyViolation, .messageTooBig,
    .missingExtension, WebSocketCloseCode(rawValue: 3000), WebSocketCloseCode(rawValue: 3003),
  ]
}
