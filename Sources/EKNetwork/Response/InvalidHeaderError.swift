import Foundation

/// An error for a header field that RFC 9110 forbids, or that the library has to set itself. Nothing has been sent; if it is a
/// trailer field, the body without its end.
public struct InvalidHeaderError: LocalizedError, NonRetriableError, Equatable, Sendable {
  /// The reasons why a field is invalid.
  public enum Reason: Equatable, Sendable {
    /// The name is not a token (RFC 9110 §5.1): it is empty, or contains a space, a colon or another separator.
    case invalidName
    /// The value contains CR, LF, NUL or a control character other than the tab (RFC 9110 §5.5), or is invalid for the
    /// field: a WebSocket subprotocol that is not a token, or is listed twice (RFC 6455 §4.1).
    case invalidValue
    /// The library sets the field, because a value that contradicts the body could make one request be read as two
    /// requests (RFC 9112 §11.2). Only `Transfer-Encoding` is refused for this reason, and in trailers every field that
    /// frames, routes or controls the message or authenticates its sender (RFC 9110 §6.5.1).
    case managedByLibrary
  }

  /// The name of the field, as the request gave it.
  public let field: String
  /// The reason why the field is invalid.
  public let reason: Reason

  /// Creates an error as the library would throw it, for tests.
  public init(field: String, reason: Reason) {
    self.field = field
    self.reason = reason
  }

  static let subprotocols = "Sec-WebSocket-Protocol"

  /// A description with the field, its control characters escaped, and the reason. It never includes the value, which
  /// may be secret.
  public var errorDescription: String? {
    switch reason {
    case .invalidName: "The header field name \"\(printableField)\" is not a token"
    case .invalidValue where field == Self.subprotocols: "A subprotocol is not a token, or is listed twice"
    case .invalidValue: "The value of the header field \"\(printableField)\" contains a control character"
    case .managedByLibrary where !field.isFieldName("transfer-encoding"):
      "The field \"\(printableField)\" is not allowed in trailers"
    case .managedByLibrary: "The header field \"\(printableField)\" is set by the library"
    }
  }

  /// The name, truncated to 100 characters, none of which can start a new line in a log or move a terminal's cursor.
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
