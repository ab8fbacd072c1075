import Foundation

/// The underlying error of a connection that was lost during the TLS handshake, before anything of the request was sent.
struct HandshakeLossError: Error {
  /// Whether it is the reason for an error.
  static func isCause(of error: any Error) -> Bool {
    (error as? URLError)?.userInfo[NSUnderlyingErrorKey] is HandshakeLossError
  }
}
