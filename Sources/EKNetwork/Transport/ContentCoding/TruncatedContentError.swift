import Foundation

/// The underlying error of a body whose content coding is not complete, although the body has ended without an error.
struct TruncatedContentError: Error {
  /// Whether it is the reason for an error.
  static func isCause(of error: any Error) -> Bool {
    (error as? URLError)?.userInfo[NSUnderlyingErrorKey] is TruncatedContentError
  }
}
