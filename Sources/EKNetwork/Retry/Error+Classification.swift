import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Error {
  /// The code, where this is a `URLError`, or the `NSError` that an injected session throws in its place.
  var urlErrorCode: URLError.Code? {
    if let error = self as? URLError { return error.code }
    let error = self as NSError
    return error.domain == NSURLErrorDomain ? URLError.Code(rawValue: error.code) : nil
  }

  /// Whether this error means that the work was cancelled, in either of the two ways there are to say it.
  var isCancellation: Bool {
    self is CancellationError || urlErrorCode == .cancelled
  }

  /// Whether it was the caller's task that was cancelled. `URLError.cancelled` without that means that the session was
  /// closed, or that its delegate refused the server's certificate.
  var isCancellationOfTask: Bool {
    self is CancellationError || (Task.isCancelled && isCancellation)
  }
}
