import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Error {
  /// The code of a `URLError`, or of the `NSError` that an injected session throws instead.
  var urlErrorCode: URLError.Code? {
    if let error = self as? URLError { return error.code }
    let error = self as NSError
    return error.domain == NSURLErrorDomain ? URLError.Code(rawValue: error.code) : nil
  }

  /// Whether this error means that the work was cancelled, in either of its two forms.
  var isCancellation: Bool {
    self is CancellationError || urlErrorCode == .cancelled
  }

  /// Whether the caller's task was cancelled. Otherwise `URLError.cancelled` means that the session was closed, or that
  /// its delegate rejected the server's certificate.
  var isCancellationOfTask: Bool {
    self is CancellationError || (Task.isCancelled && isCancellation)
  }
}
