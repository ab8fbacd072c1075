import Foundation

/// A header field that RFC 9110 forbids, or that the library has to set itself. Nothing has been sent.
public struct InvalidHeaderError: LocalizedError, NonRetriableError, Equatable, Sendable {
  /// What is wrong with the field.
  public enum Reason: Equatable, Sendable {
    /// The name is not a token (RFC 9110 §5.1): it is empty, or holds a space, a colon or another separator.
    case invalidName
    /// The value holds CR, LF, NUL or another control character than the tab (RFC 9110 §5.5), or is not what the field
    /// takes: a subprotocol of a WebSocket that is no token, or is named twice (RFC 6455 §4.1).
    case invalidValue
    /// The library sets the field, because a value that contradicts the body would let one request pass for two
    /// (RFC 9112 §11.2). Only `Transfer-Encoding` is refused for this reason.
    case managedByLibrary
  }

  /// The name of the field, as the request gave it.
  public let field: String
  /// What is wrong with the field.
  public let reason: Reason

  /// An error as the library would throw it, for tests.
  public init(field: String, reason: Reason) {
    self.field = field
    self.reason = reason
  }

  static let subprotocols = "Sec-WebSocket-Protocol"

  /// Names the field, with its control characters escaped, and the reason. The value, which may be a secret, is
  /// never part of it.
  public var errorDescription: String? {
    switch reason {
    case .invalidName: "The header field name \"\(printableField)\" is not a token"
    case .invalidValue where field == Self.subprotocols: "A subprotocol is no token, or is named twice"
    case .invalidValue: "The value of the header field \"\(printableField)\" holds a control character"
    case .managedByLibrary: "The header field \"\(printableField)\" is set by the library"
    }
  }

  /// At most 100 characters of the name, none of which can start a new line in a log or move a terminal's cursor.
  private var printableField: String {
    var result = ""
    for scalar in field.unicodeScalars.prefix(100) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
        result += scalar.escaped(asASCII: true)
      default:
        result += scalar == "\"" || scalar == "\\" ? scalar.escaped(asASCII: true) : String(scalar)
      }
    }
    return field.unicodeScalars.count > 100 ? result + "…" : result
  }
}
