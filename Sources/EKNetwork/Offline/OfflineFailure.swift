import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a failed delivery means for the request.
enum OfflineFailure: Equatable {
  /// Another attempt may succeed.
  case temporary(retryAfter: Duration?)
  /// Middleware refused the request for a limited time, and did not send it.
  case refused(retryAfter: Duration)
  /// No attempt will ever succeed.
  case permanent
  /// The flush was cancelled.
  case cancelled

  init(_ error: any Error, now: Date = Date()) {
    switch error {
    case _ where error.isCancellation: self = .cancelled
    case let error as any TemporaryRefusal: self = .refused(retryAfter: error.retryAfter)
    case let error as RequestBodyError where error.isTemporary: self = .temporary(retryAfter: nil)
    case is NonRetriableError, is EncodingError: self = .permanent
    case let error as HTTPError:
      self = Self.meaning(of: error.statusCode, retryAfter: RetryAfter.delay(in: error, now: now))
    case let error as NetworkError:
      self = error == .unauthorized || error == .invalidResponse ? .temporary(retryAfter: nil) : .permanent
    case let failure as PrismNetworkFailure:
      let cause = failure.underlyingError
      if let cause, cause is HTTPError || cause is any TemporaryRefusal || cause is NonRetriableError {
        self.init(cause, now: now)
      } else if let status = failure.statusCode, !(200..<300).contains(status) {
        self = Self.meaning(of: status, retryAfter: nil)
      } else {
        self = Self.meaning(of: failure.error)
      }
    case let error as PrismNetworkError: self = Self.meaning(of: error)
    default:
      self = Self.isPermanent(error.urlErrorCode) ? .permanent : .temporary(retryAfter: nil)
    }
  }

  /// Whether it counts as a failed attempt of the request.
  var isFailedAttempt: Bool {
    if case .temporary = self { true } else { false }
  }

  /// The minimum time until the next attempt, if it is known.
  var retryAfter: Duration? {
    switch self {
    case .temporary(let delay): delay
    case .refused(let delay): delay
    case .permanent, .cancelled: nil
    }
  }

  /// Returns whether the request cannot be sent, or a redirect cannot be followed.
  private static func isPermanent(_ code: URLError.Code?) -> Bool {
    switch code {
    case .badURL?, .unsupportedURL?, .httpTooManyRedirects?, .appTransportSecurityRequiresSecureConnection?: true
    // A GET with a body, which Foundation does not send on Apple's platforms.
    case .dataLengthExceedsMaximum?: true
    default: false
    }
  }

  private static func meaning(of error: PrismNetworkError) -> OfflineFailure {
    switch error {
    case .invalidURL, .badRequest, .forbidden: .permanent
    case .noConnectivity, .unauthorized, .serverError, .invalidResponse, .noCache: .temporary(retryAfter: nil)
    }
  }

  private static func meaning(of status: Int, retryAfter: Duration?) -> OfflineFailure {
    switch status {
    // RFC 9110 §15.5.2: credentials can be renewed. §15.5.9, RFC 8470 §5.2, RFC 6585 §4: a later attempt may succeed.
    case 401, 408, 425, 429: .temporary(retryAfter: retryAfter)
    // A redirect that could not be followed, or a client error (RFC 9110 §15.5).
    case 300..<500: .permanent
    default: .temporary(retryAfter: retryAfter)
    }
  }
}

extension RequestBodyError {
  /// Whether a later attempt may be able to read the file: too many files were open, or it was being written.
  fileprivate var isTemporary: Bool {
    switch self {
    case .fileChanged: true
    case .fileNotReadable(_, let code): ![EACCES, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG].contains(code)
    case .fileNotFound, .notARegularFile, .lengthMismatch, .alreadySent: false
    }
  }
}
