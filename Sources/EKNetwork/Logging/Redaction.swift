import Foundation

extension Error {
  /// The type and code of the error, without its text, which may quote a URL, a header field or a body.
  var redactedForLog: String {
    if let code = urlErrorCode { return "URLError \(code.rawValue)" }
    switch self {
    case let error as HTTPError: return "HTTPError \(error.statusCode)"
    case let error as NetworkError: return "NetworkError \(error)"
    case is CancellationError: return "CancellationError"
    default:
      let error = self as NSError
      return "\(type(of: self)) \(error.code)"
    }
  }
}

/// The header fields whose values are shown only if secrets are revealed.
enum SecretFields {
  /// Words in the names of fields with credentials, in addition to the fields of ``OriginFields``. Hiding a harmless
  /// value as well does no harm.
  private static let words = ["token", "secret", "key", "password", "auth", "session", "signature", "cookie"]

  static func contains(_ name: String) -> Bool {
    let name = name.lowercased()
    return words.contains(where: name.contains) || OriginFields.contains(name) && name != "host"
  }
}
