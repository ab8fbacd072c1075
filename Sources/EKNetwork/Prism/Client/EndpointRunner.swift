import Foundation

/// A runner of requests for an adapter's endpoints, which uses ``RequestRunner`` with the adapter's settings.
///
/// Every error that it throws is a ``PrismNetworkFailure`` or a `CancellationError`.
struct EndpointRunner: Sendable {
  let transport: any Transport
  let retryPolicy: (any PrismRetryPolicy)?
  let clock: any Clock<Duration>
  let logger: NetworkLogger
  let settings = Locked(NetworkManager.Settings())
  let sharedExchanges = SharedFlights<ExchangeKey>()
  let middlewareOwner = UUID().uuidString
  // Never used: the library manages no token for an endpoint.
  let tokens = TokenRefreshCoordinator()

  /// The transport behind the cache and the middleware.
  var effectiveTransport: any Transport {
    settings.withLock { $0 }.transport(over: transport, owner: middlewareOwner)
  }

  var hasMiddleware: Bool { settings.withLock { $0.hasMiddleware } }

  /// Returns the response of the first attempt whose status is a success, with its whole body, and the request as it
  /// was sent, before any redirect.
  func fetch(
    _ request: HTTPRequest, redirectPolicy: RedirectPolicy = .follow, accepting accepted: StatusCodes = .successful,
    limits: ResponseLimits = ResponseLimits(), lookup: PolicyLookup? = nil
  ) async throws -> RequestRunner.Fetched {
    try Task.checkCancellation()
    let settings = settings.withLock { $0 }
    var runner = RequestRunner(
      transport: settings.transport(over: transport, owner: middlewareOwner, lookup: lookup), tokens: tokens,
      refresher: nil, userAgent: nil, clock: clock, logger: logger, eventHandler: settings.eventHandler)
    // No redirect makes a GET another method, but middleware may.
    let mayChangeMethod = request.method != "GET" || !settings.middleware.isEmpty
    let attempts = EndpointAttempts(request: request)
    let wasStarted = settings.middleware.isEmpty ? nil : Locked(false)
    let exchange = Exchange(
      transport: runner.transport, redirectPolicy: redirectPolicy, accepted: accepted, limits: limits,
      log: runner.log(request.method),
      shared: settings.sharesExchanges && lookup == nil ? sharedExchanges : nil,
      wasCarriedOut: mayChangeMethod ? Locked(false) : nil, wasStarted: wasStarted)
    runner.middleware = settings.middleware.used(for: lookup)
    // Nothing is retried that is not sent.
    let policy = lookup?.isStoredOnly == true ? nil : retryPolicy.map { RetryPolicy(asking: $0) }
    do {
      return try await runner.fetch(attempts, policy: policy ?? RetryPolicy(), over: exchange)
    } catch let error where !(error is PrismNetworkFailure) {
      // An error of the call's middleware, or of the body of its response, is not that of an attempt.
      let fate: Repeatability.Fate = wasStarted?.withLock { $0 } == true ? .unknown : .notCarriedOut
      throw attempts.failure(
        error, of: request,
        Repeatability(isIdempotent: request.isIdempotent, fate: fate, kind: FailureKind(error)))
    }
  }
}

/// The attempts of an endpoint's request, which is the same each time.
private struct EndpointAttempts: AttemptSource {
  let request: HTTPRequest
  let allowsRetry = true
  let makesNewBodies = false

  func build() -> HTTPRequest { request }

  func error(of refusal: CollectedResponse) -> any Error {
    ResponseValidation.httpError(of: refusal, method: request.method) ?? NetworkError.invalidResponse
  }

  /// Returns the failure, marked as safe to repeat or not (RFC 9110 §9.2.2).
  func failure(_ error: any Error, of request: HTTPRequest, _ repeatability: Repeatability) -> any Error {
    if error.isCancellationOfTask { return CancellationError() }
    var failure = PrismNetworkFailure(causedBy: error, url: request.url)
    failure.method = failure.method ?? request.method
    failure.repeatability = repeatability
    return failure
  }
}

enum EntityDecoding {
  static func decode<Value: Decodable>(
    _ type: Value.Type, from data: Data, with formatter: DateFormatter?
  ) throws -> Value {
    if let value = data as? Value { return value }
    if let value = EmptyResponse() as? Value { return value }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = formatter.map { .formatted($0) } ?? .custom(date)
    return try decoder.decode(type, from: data)
  }

  @Sendable private static func date(from decoder: any Decoder) throws -> Date {
    let container = try decoder.singleValueContainer()
    guard let text = try? container.decode(String.self) else {
      // The default strategy of `JSONDecoder` and `JSONEncoder`.
      return Date(timeIntervalSinceReferenceDate: try container.decode(Double.self))
    }
    for style in [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)] {
      if let date = try? style.parse(text) { return date }
    }
    throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(text)\" is not a date of ISO 8601.")
  }

  /// Decodes the body of a response with the request's own `decode`. A decoding error is reported as an invalid
  /// response, unless the request throws a `PrismNetworkError` or a `PrismNetworkFailure` of its own.
  static func decode<Request: PrismNetworkRequest>(
    _ entry: PrismCacheEntry, for request: Request, sentAs sent: HTTPRequest, with formatter: DateFormatter?
  ) throws -> Request.Response {
    do {
      return try request.decode(data: entry.data, with: formatter)
    } catch let error where !(error is CancellationError) {
      let own = error as? PrismNetworkFailure
      var failure = PrismNetworkFailure(
        own?.error ?? error as? PrismNetworkError ?? .invalidResponse,
        because: own.map { $0.underlyingError ?? $0.error } ?? error, url: sent.url, statusCode: entry.statusCode,
        headers: entry.headers, data: entry.data)
      failure.method = sent.method
      failure.repeatability = Repeatability(after: failure, isIdempotent: sent.isIdempotent)
      throw failure
    }
  }
}
