import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Carries an endpoint's request through its attempts, as ``RequestRunner`` does for a ``NetworkRequest``.
///
/// Everything that it throws is a ``PrismNetworkFailure``, or `CancellationError`.
struct EndpointRunner: Sendable {
  let transport: any Transport
  let retryPolicy: (any PrismRetryPolicy)?
  let clock: any Clock<Duration>
  let logger: NetworkLogger
  let eventHandler = Locked<NetworkEventHandler?>(nil)

  /// The response, with its whole body, of the first attempt whose status is a success, and the request as it was sent,
  /// redirects aside.
  func fetch(
    _ urlRequest: URLRequest, redirectPolicy: RedirectPolicy = .follow, successes: Range<Int> = 200..<300
  ) async throws -> (response: FetchedResponse, sent: HopRequest) {
    let log = RequestLog(
      logger, method: urlRequest.httpMethod ?? "GET", handler: eventHandler.withLock { $0 })
    let exchange = Exchange(transport: transport, redirectPolicy: redirectPolicy, log: log)
    do {
      let (response, sent) = try await attempts(of: urlRequest, over: exchange, log: log, successes: successes)
      log.finished(status: response.head.statusCode ?? 0, bytes: Int64(response.data.count), timings: response.timings)
      return (response, sent)
    } catch {
      log.failed(Self.cause(of: error))
      throw error
    }
  }

  private func attempts(
    of urlRequest: URLRequest, over exchange: Exchange, log: RequestLog, successes: Range<Int>
  ) async throws -> (FetchedResponse, HopRequest) {
    var state = RetryState(policy: retryPolicy.map { RetryPolicy($0) } ?? RetryPolicy())
    while true {
      try Task.checkCancellation()
      if let url = urlRequest.url { log.started(url, attempt: state.retryCount + 1) }
      var retryAfter: Duration?
      let failure: any Error
      do {
        let hop = try exchange.hop(urlRequest)
        let response = try await exchange.load(hop)
        let status = response.head.statusCode ?? 0
        if successes.contains(status) { return (response, hop) }
        retryAfter = response.head.retryAfter
        failure = Self.failure(Self.error(of: response), of: urlRequest)
      } catch {
        failure = error.isCancellation ? CancellationError() : Self.failure(error, of: urlRequest)
      }
      switch state.failed(
        with: failure, retryAfter: retryAfter, bodyIsReplayable: urlRequest.bodyIsReplayable,
        wasCancelled: Task.isCancelled)
      {
      case .fail(let error): throw error
      case .retry(let delay):
        log.retrying(attempt: state.retryCount + 1, after: delay, error: Self.cause(of: failure))
        try await clock.sleep(for: delay)
      }
    }
  }

  /// The failure of a request, and whether it may be repeated (RFC 9110 §9.2.2).
  private static func failure(_ error: any Error, of urlRequest: URLRequest) -> PrismNetworkFailure {
    var failure = PrismNetworkFailure(error, url: urlRequest.url)
    let isIdempotent =
      HTTPMethod(rawValue: urlRequest.httpMethod ?? "GET")?.isIdempotent == true
      || urlRequest.value(forHTTPHeaderField: "Idempotency-Key") != nil
    failure.isHarmlessToRepeat = isIdempotent || failure.wasNotCarriedOut
    return failure
  }

  /// What a log is told: a failure has many faces, its cause a type and a code.
  private static func cause(of error: any Error) -> any Error {
    (error as? PrismNetworkFailure)?.underlyingError ?? error
  }

  private static func error(of response: FetchedResponse) -> any Error {
    guard let http = response.head.urlResponse as? HTTPURLResponse else { return NetworkError.invalidResponse }
    return HTTPError(statusCode: http.statusCode, data: response.data, headers: http.headerDictionary)
  }
}
