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
