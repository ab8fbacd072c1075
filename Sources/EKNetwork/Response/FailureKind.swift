import Foundation

/// What a failure means for another attempt: the one table of failures, for everything that repeats requests or opens
/// connections again.
///
/// Each of these decides which kinds it repeats: a retry policy only what is temporary, a queue, which must not lose a
/// request, also what is unclear.
enum FailureKind: Equatable, Sendable {
  /// Another attempt may succeed.
  case temporary
  /// An error of the server that is not known to be temporary.
  case serverError
  /// The request was refused for that time, and not sent.
  case refused(Duration)
  /// The credentials were not accepted. They may be renewed (RFC 9110 §15.5.2).
  case unauthorized
  /// An error that the library does not know, or that says nothing about the next attempt.
  case unclear
  /// Every attempt would fail in the same way.
  case permanent
  /// A complete response cannot be used: the server has processed the request.
  case completed
  case cancelled

  init(_ error: any Error) {
    self =
      switch error {
      case _ where error.isCancellation: .cancelled
      case let error as any ClassifiedError: error.failureKind
      case is NonRetriableError, is EncodingError: .permanent
      case is DecodingError: .completed
      default: error.urlErrorCode.map { FailureKind(code: $0) } ?? .unclear
      }
  }

  init(status: Int) {
    self =
      switch status {
      case 200..<300: .completed
      case 401: .unauthorized
      case 408: .temporary  // The server stopped waiting for the request (RFC 9110 §15.5.9).
      case 425: .temporary  // To be repeated once the handshake is complete (RFC 8470 §5.2).
      case 429: .temporary  // Retry later (RFC 6585 §4).
      case 500: .temporary  // Often momentary, or from one bad instance behind a load balancer.
      case 502: .temporary  // The server behind the gateway is restarting.
      case 503: .temporary  // Temporary by definition (RFC 9110 §15.6.4).
      case 504: .temporary  // The server behind the gateway was too slow this time.
      case 501, 505: .permanent  // The server does not know the method (RFC 9110 §15.6.2), or the version of HTTP.
      case 500..<600: .serverError
      // A redirect that is not followed, or a client error (RFC 9110 §15.5).
      case 300..<500: .permanent
      default: .unclear
      }
  }

  private init(code: URLError.Code) {
    self =
      switch code {
      case .timedOut: .temporary  // The network or the server was too slow this time.
      case .cannotConnectToHost: .temporary  // Refused: the server is restarting.
      case .networkConnectionLost: .temporary  // The connection broke in the middle.
      case .cannotFindHost: .temporary  // Name servers fail briefly, above all right after a network change.
      case .dnsLookupFailed: .temporary  // The same under another name.
      case .notConnectedToInternet: .temporary  // The device is briefly offline, such as in a tunnel.
      case .internationalRoamingOff: .temporary  // The phone is about to find another network.
      case .callIsActive: .temporary  // Mobile data is suspended during a phone call.
      case .dataNotAllowed: .temporary  // Mobile data is about to be switched back to Wi-Fi.
      case .badServerResponse: .temporary  // No response head, or an invalid one: the server failed while responding.
      case .userAuthenticationRequired: .unauthorized
      // The request cannot be sent, or its redirect cannot be followed.
      case .badURL, .unsupportedURL, .httpTooManyRedirects, .appTransportSecurityRequiresSecureConnection: .permanent
      // A GET with a body, which Foundation does not send on Apple's platforms.
      case .dataLengthExceedsMaximum: .permanent
      case .cannotDecodeContentData, .cannotDecodeRawData: .completed
      default: .unclear
      }
  }

  /// Whether a failure to connect again is temporary, although it is ``unclear``. At first, it is the configuration that is
  /// wrong: a file of authorities is missing, or libcurl. Once a connection was open, a server sends an alert while it is
  /// being restarted, or descriptors are short.
  static func isTemporaryOnceConnected(_ error: (any Error)?) -> Bool {
    error?.urlErrorCode == .secureConnectionFailed || error?.urlErrorCode == .resourceUnavailable
  }

  /// Whether it is certain that the server has not processed the request.
  var wasNotSent: Bool { if case .refused = self { true } else { false } }
}

/// An error of the library that says itself what it means for another attempt.
protocol ClassifiedError: Error {
  var failureKind: FailureKind { get }
  var responseHeaders: [String: String]? { get }
}

extension ClassifiedError {
  var responseHeaders: [String: String]? { nil }
}

extension HTTPError: ClassifiedError {
  var failureKind: FailureKind { FailureKind(status: statusCode) }
  var responseHeaders: [String: String]? { headers }
}

extension NetworkError: ClassifiedError {
  var failureKind: FailureKind {
    switch self {
    case .unauthorized: .unauthorized
    case .invalidResponse: .unclear
    case .emptyResponse: .completed
    case .invalidURL, .invalidMultipartEncoding, .conflictingBodyTypes: .permanent
    }
  }
}

extension PrismNetworkError: ClassifiedError {
  var failureKind: FailureKind {
    switch self {
    case .noConnectivity, .serverError: .temporary
    case .unauthorized: .unauthorized
    case .invalidURL, .badRequest, .forbidden: .permanent
    case .invalidResponse, .noCache: .unclear
    }
  }
}

extension PrismNetworkFailure: ClassifiedError {
  var failureKind: FailureKind {
    let status = statusCode.map { FailureKind(status: $0) }
    // Whatever the request's own decoding has made of the response, it is complete.
    if status == .completed { return .completed }
    let cause = underlyingError.map { FailureKind($0) } ?? .unclear
    if cause != .unclear { return cause }
    return status ?? error.failureKind
  }

  var responseHeaders: [String: String]? {
    headers.isEmpty ? (underlyingError as? any ClassifiedError)?.responseHeaders : headers
  }
}

extension Error {
  /// The code of a `URLError`, or of the `NSError` that an injected session throws instead.
  var urlErrorCode: URLError.Code? {
    if let error = self as? URLError { return error.code }
    let error = self as NSError
    return error.domain == NSURLErrorDomain ? URLError.Code(rawValue: error.code) : nil
  }

  /// Whether this error means that a body is complete, but its content coding cannot be removed.
  var isUndecodableContent: Bool {
    urlErrorCode == .cannotDecodeContentData || urlErrorCode == .cannotDecodeRawData
  }

  /// Whether this error means that the work was cancelled, in either of its two forms.
  var isCancellation: Bool { self is CancellationError || urlErrorCode == .cancelled }

  /// Whether the caller's task was cancelled. Otherwise `URLError.cancelled` means that the session was closed, or that
  /// its delegate rejected the server's certificate.
  var isCancellationOfTask: Bool { self is CancellationError || (Task.isCancelled && isCancellation) }
}

/// The underlying error of a failure before anything of the request was sent, of which the code does not say that: one of
/// the TLS handshake, or a timeout while there was no connection, or in a queue of the client.
struct UnsentRequestError: Error {
  /// Whether it waited for a limit of the client, so that the failure says nothing about the server.
  var isOfOwnLimit = false

  static func isOfOwnLimit(_ error: URLError) -> Bool {
    (error.userInfo[NSUnderlyingErrorKey] as? UnsentRequestError)?.isOfOwnLimit == true
  }

  static func isCause(of error: any Error) -> Bool {
    (error as? URLError)?.userInfo[NSUnderlyingErrorKey] is UnsentRequestError
  }
}
