/// A status code that indicates why a WebSocket was closed (RFC 6455 §7.4).
public struct WebSocketCloseCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The number on the wire.
  public let rawValue: UInt16

  /// Creates a code from its number: 1000–1015 are defined by the protocol, 3000–3999 registered, 4000–4999 private.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 1000: the purpose of the connection is fulfilled.
  public static let normalClosure = WebSocketCloseCode(rawValue: 1000)
  /// 1001: the endpoint is going away, such as a server that shuts down or a page that is left.
  public static let goingAway = WebSocketCloseCode(rawValue: 1001)
  /// 1002: a violation of the protocol.
  public static let protocolError = WebSocketCloseCode(rawValue: 1002)
  /// 1003: a kind of data that the endpoint cannot accept.
  public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
  /// 1005: the close frame held no code. Never sent.
  public static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
  /// 1006: the connection ended without a close frame. Never sent.
  public static let abnormalClosure = WebSocketCloseCode(rawValue: 1006)
  /// 1007: data that does not match the type of the message, such as text that is not UTF-8.
  public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
  /// 1008: a message that violates the endpoint's policy.
  public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
  /// 1009: a message that is too big.
  public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
  /// 1010: the client expected an extension that the server did not negotiate.
  public static let missingExtension = WebSocketCloseCode(rawValue: 1010)
  /// 1011: the server encountered an unexpected condition.
  public static let internalError = WebSocketCloseCode(rawValue: 1011)
  /// 1012: the server is restarting.
  public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
  /// 1013: the server is overloaded; try again later.
  public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)

  /// Whether a close frame may carry the code (RFC 6455 §7.4.1, §7.4.2).
  public var isSendable: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  /// The code as a decimal number.
  public var description: String { String(rawValue) }
}
