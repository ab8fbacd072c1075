import Foundation

/// Performs the attempts of a request, as ``AttemptState`` decides.
///
/// Runs on the caller's actor, because the request, the closures and the policies belong to the caller and need not be
/// `Sendable`. The exchanges themselves run elsewhere.
///
/// A waiting request keeps the frames of all functions between its caller and the transport. The functions that these
/// call are not inlined into them (`@inline(never)`, here and below): otherwise each frame would also hold their
/// variables, and a waiting request would take half as much memory again.
struct RequestRunner {
  let transport: any Transport
  let tokens: TokenRefreshCoordinator
  let refresher: (any TokenRefreshProvider)?
  let userAgent: String?
  let clock: any Clock<Duration>
  let logger: NetworkLogger
  let eventHandler: NetworkEventHandler?
  /// The exchanges in flight that identical requests share, if enabled.
  var shared: SharedFlights<ExchangeKey>?
  /// The token of the call, if it is obtained asynchronously.
  var token: AsyncToken?
  /// Set when the token could not be refreshed. Only for those who ask ``hasTokenFailed``.
  var refreshFailed: Locked<Bool>?
  /// Whether the error of the call is that of its token: of the closure, or of the refresh.
  var hasTokenFailed: Bool { token?.hasFailed == true || refreshFailed?.withLock { $0 } == true }
  var defaults: ClientDefaults?
  /// The middleware around whole calls. That of attempts is in `transport`.
  var middleware: [any NetworkMiddleware] = []

  /// The maximum number of bytes read of an error response to a stream or a download.
  private static let errorLimit = 1_048_576

  /// How long to read the error response to a request that others wait behind.
  private static let errorPatience = Duration.seconds(10)

  /// Returns an error response, with as much of its body as is read. Its status is reported even if the body is too
  /// long or incomplete.
  static func refusal<Success>(
    _ response: TransportResponse, tokenHasExpired: Bool = false
  ) async throws -> Outcome<Success> {
    let tooLong = StreamingError.errorPayloadTooLarge(limitBytes: errorLimit)
    do {
      let collected = try await response.collect(limit: errorLimit, orThrow: tooLong)
      return .refusal(collected, tokenHasExpired: tokenHasExpired)
    } catch {
      if error.isCancellation { throw error }
      let unread = CollectedResponse(head: response.head, data: Data())
      return .refusal(unread, readError: error, tokenHasExpired: tokenHasExpired)
    }
  }

  /// The outcome of an attempt. Rare cases are indirect: a task that waits for a response holds memory for its outcome.
  enum Outcome<Success: Sendable>: Sendable {
    /// A response that the request accepts.
    case success(Success)
    /// A 401 that the request accepts, unless the token is refreshed after it, or its body could not be read.
    indirect case challenge(Success, ResponseHead, readError: (any Error)?)
    /// A status that the request does not accept, with the body, or the error of reading it. `tokenHasExpired` is that of
    /// ``AttemptState``.
    indirect case refusal(CollectedResponse, readError: (any Error)? = nil, tokenHasExpired: Bool = false)
  }

  /// A response with its body, and the request that led to it, as it was sent, redirects aside. In a class, for the same
  /// reason.
  final class Fetched: Sendable {
    let response: CollectedResponse
    let sent: HopRequest

    init(_ response: CollectedResponse, sent: HopRequest) { (self.response, self.sent) = (response, sent) }
  }

  /// Returns the response of the first attempt whose status is accepted, with its whole body. An incomplete
  /// body is a failed attempt.
  ///
  /// - Parameters:
  ///   - accepted: The statuses to accept; `nil` for those that the request accepts.
  ///   - firstBuilt: The request of the first attempt, if it was already built.
  nonisolated(nonsending) func fetch<T: NetworkRequest>(
    _ request: T, accepting accepted: StatusCodes? = nil, firstBuilt: BuiltRequest? = nil,
    baseURL: @escaping () -> URL, accessToken: (() -> String?)?
  ) async throws -> Fetched {
    try Task.checkCancellation()
    let progress = request.progress.map { ProgressReporter($0) }
    return try await fetch(
      source(request, baseURL, accessToken), firstBuilt: firstBuilt, policy: defaults.reading { request.retryPolicy },
      over: exchange(
        for: request, accepting: accepted, baseURL: baseURL, progress: progress, log: log(request.methodName)))
  }

  /// Performs a request of any kind, like the function above.
  @inline(never)
  nonisolated(nonsending) func fetch(
    _ source: any AttemptSource, firstBuilt: BuiltRequest? = nil, policy: RetryPolicy, over exchange: Exchange
  ) async throws -> Fetched {
    do {
      let fetched = try await call(
        of: source, firstBuilt: firstBuilt, policy: policy, over: exchange, adapter: .collected(over: exchange)
      ) { try await Self.collect($0, over: $1) }
      exchange.progress?.succeeded()
      exchange.log?.finished(fetched.response)
      return fetched
    } catch {
      exchange.log?.failed(error)
      throw error
    }
  }

  @inline(never)
  private static func collect(
    _ request: HTTPRequest, over exchange: Exchange
  ) async throws -> Outcome<Fetched> {
    let hop = try exchange.hop(request)
    let response = try await exchange.load(hop)
    guard let status = response.head.statusCode else { throw NetworkError.invalidResponse }
    guard exchange.accepted.contains(status) else { return .refusal(response, readError: response.readError) }
    let readError = response.readError.flatMap { exchange.ignores($0) ? nil : $0 }
    return accepted(Fetched(response, sent: hop), response.head, readError: readError)
  }

  /// Returns the outcome of an attempt whose status is accepted.
  ///
  /// - Parameter readError: The error because of which a 401 is not the result, unless the token is refreshed after it.
  private static func accepted<Success>(
    _ success: Success, _ head: ResponseHead, readError: (any Error)?
  ) -> Outcome<Success> {
    head.statusCode == 401 ? .challenge(success, head, readError: readError) : .success(success)
  }

  /// Returns the head of a response whose status is accepted, with its body unread. There are no retries, and no progress is
  /// reported.
  ///
  /// - Parameters:
  ///   - isSubscription: Whether the request is sent again if its stream is lost. The status and its `Retry-After` then decide
  ///     about another attempt, whatever the body.
  ///   - wasCarriedOut: Set when a redirect changes the method, because the request was carried out.
  nonisolated(nonsending) func stream<T: NetworkRequest>(
    _ request: T, baseURL: @escaping () -> URL, accessToken: (() -> String?)?, isSubscription: Bool = false,
    recordsEnds: Bool = true, wasCarriedOut: Locked<Bool>? = nil
  ) async throws -> TransportResponse {
    try Task.checkCancellation()
    var log = log(request.methodName)
    log?.isReconnecting = isSubscription
    var exchange = exchange(for: request, baseURL: baseURL, progress: nil, log: log, wasCarriedOut: wasCarriedOut)
    exchange.recordsEnds = recordsEnds
    do {
      let source = source(request, baseURL, accessToken)
      return logged(try await open(source, over: exchange, throwsReadError: !isSubscription), to: log)
    } catch {
      log?.failed(error)
      throw error
    }
  }

  @inline(never)
  private func logged(_ response: TransportResponse, to log: RequestLog?) -> TransportResponse {
    guard let log else { return response }
    var response = response
    response.body = ObservedBody(response.body) { [head = response.head] count, end, error in
      if let error {
        log.received(status: head.statusCode)
        return log.failed(error)
      }
      log.finished(status: head.statusCode ?? 0, bytes: count, timings: end?.timings, head: head)
    }
    return response
  }

  /// Sends a request of which only the status matters: the head of a success is its end (RFC 9110 §15.3), whatever
  /// becomes of the body. That is read only as far as it serves to reuse the connection.
  nonisolated(nonsending) func deliver(_ source: any AttemptSource, over exchange: Exchange) async throws {
    do {
      let response = try await open(source, over: exchange, throwsReadError: false, patience: Self.errorPatience)
      let bytes = (try? await response.drain()) ?? 0
      exchange.log?.finished(
        status: response.head.statusCode ?? 0, bytes: Int64(bytes), timings: response.body.end?.timings,
        head: response.head)
    } catch {
      exchange.log?.failed(error)
      throw error
    }
  }

  nonisolated(nonsending) private func open(
    _ source: any AttemptSource, over exchange: Exchange, throwsReadError: Bool, patience: Duration? = nil
  ) async throws -> TransportResponse {
    let clock = clock
    return try await call(of: source, policy: RetryPolicy(), over: exchange, adapter: .streamed(over: exchange)) {
      request, exchange in
      let response = try await exchange.open(request, collectsBody: false)
      guard let status = response.head.statusCode else { throw StreamingError.invalidResponse }
      if exchange.accepted.contains(status) {
        return Self.accepted(response, response.head, readError: (response.body as? FailedBody)?.error)
      }
      return try await Self.refusal(response, throwsReadError: throwsReadError, patience: patience, clock: clock)
    }
  }

  @inline(never)
  private static func refusal(
    _ response: TransportResponse, throwsReadError: Bool, patience: Duration?, clock: any Clock<Duration>
  ) async throws -> Outcome<TransportResponse> {
    guard let patience else {
      let refusal: Outcome<TransportResponse> = try await refusal(response)
      guard !throwsReadError, case .refusal(let collected, _, _) = refusal else { return refusal }
      return .refusal(collected)
    }
    // A server that withholds the rest of the body must not withhold its status, too.
    let collected = try? await TimeLimit.run(
      patience, clock: clock, error: URLError(.timedOut), stop: response.body.cancel
    ) {
      let refusal: Outcome<TransportResponse> = try await refusal(response)
      guard case .refusal(let collected, _, _) = refusal else { throw StreamingError.invalidResponse }
      return collected
    }
    try Task.checkCancellation()
    return .refusal(collected ?? CollectedResponse(head: response.head, data: Data()))
  }

  func log(_ method: String) -> RequestLog? {
    RequestLog(logger, method: method, handler: eventHandler, implementation: transport.implementation)
  }

  func source<T: NetworkRequest>(
    _ request: T, _ baseURL: @escaping () -> URL, _ accessToken: (() -> String?)?,
    accept: String = RequestBuilder.json
  ) -> TypedAttempts<T> {
    TypedAttempts(
      request: request, baseURL: baseURL, accessToken: accessToken, userAgent: userAgent,
      accept: transport.sessionSettings.adds("accept") ? nil : accept, defaults: defaults)
  }

  @inline(never)
  func exchange<T: NetworkRequest>(
    for request: T, accepting accepted: StatusCodes? = nil, baseURL: (() -> URL)? = nil, progress: ProgressReporter?,
    log: RequestLog?, wasCarriedOut: Locked<Bool>? = nil
  ) -> Exchange {
    let isIdempotent = request.isIdempotent
    // What may be repeated anyway needs no tracking, unless middleware changes the method.
    let wasCarriedOut = wasCarriedOut ?? (isIdempotent && middleware.isEmpty ? nil : Locked(false))
    let leavesOrigin = baseURL.map { RequestBuilder.leavesOrigin(request.targetURL, baseURL: $0()) } ?? false
    return defaults.reading {
      Exchange(
        transport: transport, redirectPolicy: request.redirectPolicy, isIdempotent: isIdempotent,
        method: request.methodName, accepted: accepted ?? request.acceptedStatuses,
        cacheMode: request.cacheMode, decodesContent: request.decodesContent,
        ignoresContent: ResponseDecoding.ignoresContent(T.self),
        limits: ResponseLimits(size: request.maximumResponseSize, inflation: request.maximumInflation),
        progress: progress, deadline: request.totalTimeout.map { .now + max(.zero, $0).sleepable },
        onInterim: request.onInterimResponse.map(InterimObserver.init), log: log,
        hasLeftOrigin: leavesOrigin, credential: request.credential, shared: shared,
        wasCarriedOut: wasCarriedOut)
    }
  }

  // MARK: - Attempts

  /// The request of one attempt, with the generation of its token.
  struct BuiltRequest: Sendable {
    let request: HTTPRequest
    let generation: UInt64
  }

  /// Builds a request, reading the base URL and the token once each.
  @inline(never)
  func build(_ source: any AttemptSource) throws -> BuiltRequest {
    // Read before the token: the token may then be newer than the generation, never older.
    let generation = tokens.generation
    return BuiltRequest(request: try source.build(), generation: generation)
  }

  /// Builds a request like the function above, with a token that is obtained first.
  @inline(never)
  nonisolated(nonsending) func build(
    _ source: any AttemptSource, with token: AsyncToken, until deadline: ContinuousInstant?
  ) async throws -> BuiltRequest {
    let generation = tokens.generation
    try await token.obtain(until: deadline)
    return BuiltRequest(request: try source.build(), generation: generation)
  }

  @inline(never)
  nonisolated(nonsending) func attempts<Success: Sendable>(
    of source: any AttemptSource, firstBuilt: BuiltRequest? = nil, policy: RetryPolicy, over exchange: Exchange,
    load: @Sendable (HTTPRequest, Exchange) async throws -> Outcome<Success>
  ) async throws -> Success {
    var state = AttemptState(policy: policy, allowsRetry: source.allowsRetry, hasRefresher: refresher != nil)
    var number = 1
    // The error that caused the request to be sent again, which is thrown if its body turns out to be consumed.
    var reason: (() -> any Error)?
    var prebuilt = firstBuilt
    while true {
      let built: BuiltRequest
      if let token, prebuilt == nil {
        built = try await build(source, with: token, until: exchange.deadline)
      } else {
        built = try prebuilt ?? build(source)
      }
      prebuilt = nil
      let request = built.request
      if let reason, !request.bodyIsReplayable { throw reason() }
      exchange.log?.started(request.url, attempt: number)
      if let deadline = exchange.deadline, deadline <= .now { throw reason?() ?? URLError.timedOut(request.url) }

      let result: Result<Outcome<Success>, any Error>
      do { result = .success(try await load(request, exchange)) } catch { result = .failure(error) }
      if case .success(.success(let success)) = result {
        // Where nothing is tracked, the request may be repeated anyway.
        if exchange.wasCarriedOut != nil {
          exchange.recordSuccess(of: request, isComplete: Success.self != TransportResponse.self)
        }
        return success
      }

      let error = { source.failure(Self.error(of: result, for: source), of: request, $0) }
      switch action(
        after: result, of: request, for: source, over: exchange, &state, error: error)
      {
      case .deliver:
        guard case .success(.challenge(let success, _, _)) = result else { throw NetworkError.invalidResponse }
        return success
      case .fail(let error): throw error
      case .refreshToken:
        guard let refresher else { throw NetworkError.unauthorized }
        exchange.log?.refreshingToken()
        // The refresh may need the connection that an unread body occupies.
        if case .success(.challenge(let success, _, _)) = result { (success as? TransportResponse)?.body.cancel() }
        do {
          try await tokens.refresh(
            ifNewerThan: built.generation, using: refresher, after: Self.challenge(of: result),
            until: exchange.deadline)
        } catch {
          refreshFailed?.withLock { $0 = true }
          throw error
        }
        reason = { error(exchange.repeatability(of: request, afterStatus: 401)) }
      case .retry(let delay, let error):
        if let deadline = exchange.deadline, .now + delay.sleepable >= deadline { throw error }
        exchange.log?.retrying(attempt: number + 1, after: delay, error: error)
        try await clock.sleep(for: delay)
        reason = { error }
      }
      try Task.checkCancellation()
      number += 1
      exchange.progress?.restarted()
    }
  }

  @inline(never)
  private func action<Success>(
    after result: Result<Outcome<Success>, any Error>, of request: HTTPRequest, for source: any AttemptSource,
    over exchange: Exchange, _ state: inout AttemptState, error: (Repeatability) -> any Error
  ) -> AttemptState.Action {
    // A request whose `body` makes a new stream each time can be sent again although the last stream is consumed.
    let isReplayable = request.bodyIsReplayable || source.makesNewBodies
    func failed(_ cause: any Error) -> AttemptState.Action {
      let repeatability = exchange.repeatability(of: request, after: cause)
      exchange.record(repeatability)
      return state.failed(
        with: error(repeatability), repeatability: repeatability, bodyIsReplayable: isReplayable,
        wasCancelled: Task.isCancelled, retryAfter: nil)
    }
    switch result {
    case .success(.success): return .deliver
    case .success(.challenge(_, let head, let readError)):
      exchange.log?.received(status: 401)
      let action = state.received(
        status: 401, isAccepted: true, isFromOtherOrigin: head.isFromOtherOrigin,
        repeatability: exchange.repeatability(of: request, afterStatus: 401), bodyIsReplayable: isReplayable,
        retryAfter: nil, error: error)
      guard case .deliver = action, let readError else { return action }
      return failed(readError)
    case .success(.refusal(let response, _, let tokenHasExpired)):
      let status = response.head.statusCode ?? 0
      exchange.log?.received(status: status)
      let repeatability = exchange.repeatability(of: request, afterStatus: status)
      exchange.record(repeatability)
      return state.received(
        status: status, isFromOtherOrigin: response.head.isFromOtherOrigin, tokenHasExpired: tokenHasExpired,
        repeatability: repeatability, bodyIsReplayable: isReplayable, retryAfter: response.head.retryAfter,
        refusal: { ResponseValidation.httpError(of: response, method: request.method) }, error: error)
    case .failure(let cause): return failed(cause)
    }
  }

  /// Returns the 401 after which the token is refreshed.
  private static func challenge<Success>(of result: Result<Outcome<Success>, any Error>) -> NetworkResponse {
    switch result {
    case .success(.refusal(let response, _, _)): NetworkResponse(response)
    case .success(.challenge(_, let head, _)): NetworkResponse(CollectedResponse(head: head, data: Data()))
    default: NetworkResponse(statusCode: 401)
    }
  }

  static func error<Success>(
    of result: Result<Outcome<Success>, any Error>, for source: any AttemptSource
  ) -> any Error {
    switch result {
    case .success(.success): NetworkError.invalidResponse
    case .success(.challenge(_, _, let readError?)): readError
    case .success(.challenge(_, let head, _)): source.error(of: CollectedResponse(head: head, data: Data()))
    // A body that exceeds a limit is reported as such. Any other error of reading it, or of sending the request's own
    // body, does not affect the meaning of the status.
    case .success(.refusal(_, let readError?, _)) where isLimit(readError): readError
    case .success(.refusal(let response, _, _)): source.error(of: response)
    case .failure(let error): error
    }
  }

  private static func isLimit(_ error: any Error) -> Bool {
    if case .errorPayloadTooLarge? = error as? StreamingError { return true }
    return error is ResponseLimitError
  }
}
