import Foundation

/// The state of one request across its attempts: one token refresh, another whenever the renewed token has expired, and
/// as many retries as its policy allows.
struct AttemptState {
  enum Action {
    case deliver
    case refreshToken
    case retry(after: Duration, because: any Error)
    case fail(any Error)
  }

  private var retries: RetryState
  private let canRefresh: Bool
  private var hasRefreshed = false

  /// - Parameter allowsRetry: The request's `allowsRetry`, which applies to the refresh as well.
  init(policy: RetryPolicy, allowsRetry: Bool, hasRefresher: Bool) {
    retries = RetryState(policy: policy, isAllowed: allowsRetry)
    canRefresh = allowsRetry && hasRefresher
  }

  /// Handles a response. `error` makes the error of a response that is not accepted.
  ///
  /// - Parameters:
  ///   - isAccepted: Whether the request accepts its status, unless it is a 401 after which the token is refreshed.
  ///   - tokenHasExpired: Whether the token of a 401 was accepted before: the request has advanced since the last 401.
  ///   - repeatability: Whether the request may be sent again after that status.
  ///   - refusal: Makes the response of which the request's own decoder has made the error; `nil` if it has not.
  mutating func received(
    status: Int, isAccepted: Bool = false, isFromOtherOrigin: Bool = false, tokenHasExpired: Bool = false,
    repeatability: Repeatability, bodyIsReplayable: Bool, retryAfter: @autoclosure () -> Duration?,
    refusal: () -> HTTPError? = { nil }, error: (Repeatability) -> any Error
  ) -> Action {
    // RFC 9110 §15.5.2: the credentials were rejected, unless the response is from another origin, which did not
    // receive them. A partially read stream cannot be sent again.
    if status == 401, !isFromOtherOrigin, !repeatability.isForbidden, canRefresh, !hasRefreshed || tokenHasExpired,
      bodyIsReplayable
    {
      hasRefreshed = true
      return .refreshToken
    }
    if isAccepted { return .deliver }
    return failed(
      with: error(repeatability), repeatability: repeatability, bodyIsReplayable: bodyIsReplayable, wasCancelled: false,
      retryAfter: retryAfter(), refusal: refusal)
  }

  /// Handles an attempt that ended without a response, or with an error response.
  mutating func failed(
    with error: any Error, repeatability: Repeatability, bodyIsReplayable: Bool, wasCancelled: Bool,
    retryAfter: Duration?, refusal: () -> HTTPError? = { nil }
  ) -> Action {
    let delay = retries.failed(
      with: error, repeatability, retryAfter: retryAfter, bodyIsReplayable: bodyIsReplayable,
      wasCancelled: wasCancelled, refusal: refusal)
    guard let delay else { return .fail(wasCancelled ? CancellationError() : error) }
    return .retry(after: delay, because: error)
  }
}

/// The source of a request's attempts, for any of the library's client interfaces.
protocol AttemptSource {
  /// Whether a failed attempt may be followed by another at all.
  var allowsRetry: Bool { get }
  /// Whether each attempt certainly has a new body, so that a consumed one does not prevent a retry.
  var makesNewBodies: Bool { get }

  func build() throws -> HTTPRequest

  /// Returns the error for a response with an error status.
  func error(of refusal: CollectedResponse) -> any Error

  /// Returns the error of a failed attempt, as the retry policy and the caller receive it.
  func failure(_ error: any Error, of request: HTTPRequest, _ repeatability: Repeatability) -> any Error
}

/// A ``NetworkRequest``, built for each attempt.
struct TypedAttempts<Request: NetworkRequest>: AttemptSource {
  let request: Request
  let baseURL: () -> URL
  let accessToken: (() -> String?)?
  let userAgent: String?
  let accept: String?
  let defaults: ClientDefaults?
  /// The client's own header fields, which are meant for its base URL.
  let defaultHeaders: HeaderFieldList?

  // Inlined: each function that handles a generic type of its own looks it up.
  @inline(__always)
  init(
    request: Request, baseURL: @escaping () -> URL, accessToken: (() -> String?)?, userAgent: String?,
    accept: String?, defaults: ClientDefaults?
  ) {
    self.request = request
    self.baseURL = baseURL
    self.accessToken = accessToken
    self.userAgent = userAgent
    self.accept = accept
    self.defaults = defaults
    defaultHeaders = defaults?.headers
  }

  var allowsRetry: Bool { request.allowsRetry }
  var makesNewBodies: Bool { request.body?.isReplayable ?? true }

  func build() throws -> HTTPRequest {
    try defaults.reading {
      try RequestBuilder.build(
        request, baseURL: baseURL(), accessToken: accessToken?(), userAgent: userAgent, accept: accept,
        defaultHeaders: defaultHeaders)
    }
  }

  func error(of refusal: CollectedResponse) -> any Error {
    defaults.reading { ResponseValidation.error(of: refusal, to: request) }
  }

  func failure(_ error: any Error, of request: HTTPRequest, _ repeatability: Repeatability) -> any Error { error }
}

/// The attempts of a request to which middleware has made changes.
struct ChangedAttempts: AttemptSource {
  let source: any AttemptSource
  let changes: RequestChanges

  var allowsRetry: Bool { source.allowsRetry }
  var makesNewBodies: Bool { source.makesNewBodies }
  func build() throws -> HTTPRequest { try changes.applied(to: try source.build()) }
  func error(of refusal: CollectedResponse) -> any Error { source.error(of: refusal) }
  func failure(_ error: any Error, of request: HTTPRequest, _ repeatability: Repeatability) -> any Error {
    source.failure(error, of: request, repeatability)
  }
}
