import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Carries a typed request through its attempts: acts on what ``AttemptState`` decides.
///
/// Runs on the caller's actor, because the request, the closures and the policies are the caller's and need not be
/// `Sendable`. The exchanges themselves leave it.
struct RequestRunner {
  let transport: any Transport
  let tokens: TokenRefreshCoordinator
  let refresher: (any TokenRefreshProvider)?
  let userAgent: String?
  let clock: any Clock<Duration>
  let logger: NetworkLogger

  /// The answer of the first attempt that succeeds.
  nonisolated(nonsending) func run<T: NetworkRequest>(
    _ request: T, baseURL: () -> URL, accessToken: (() -> String?)?
  ) async throws -> FetchedResponse {
    try Task.checkCancellation()
    var state = AttemptState(
      policy: request.retryPolicy, allowsRetry: request.allowsRetry, hasRefresher: refresher != nil)
    let progress = request.progress.map { ProgressReporter($0) }
    let log = RequestLog(logger, method: request.method.rawValue)
    let exchange = Exchange(
      transport: transport, redirectPolicy: request.redirectPolicy, progress: progress, log: log)
    let start = ContinuousClock.now
    do {
      let response = try await attempts(of: request, over: exchange, &state, log, baseURL: baseURL, accessToken)
      progress?.succeeded()
      log.finished(status: response.head.statusCode ?? 0, bytes: Int64(response.data.count), duration: .now - start)
      return response
    } catch {
      log.failed(error, duration: .now - start)
      throw error
    }
  }

  private nonisolated(nonsending) func attempts<T: NetworkRequest>(
    of request: T, over exchange: Exchange, _ state: inout AttemptState, _ log: RequestLog,
    baseURL: () -> URL, _ accessToken: (() -> String?)?
  ) async throws -> FetchedResponse {
    var number = 1
    // Why the request is sent again: what is thrown should its body turn out to be used up.
    var reason: (() -> any Error)?
    while true {
      // Noted before the token is read: the token may then be newer than the note, never older.
      let generation = tokens.generation
      let urlRequest = try RequestBuilder.build(
        request, baseURL: baseURL(), accessToken: accessToken?(), userAgent: userAgent)
      if let reason, !urlRequest.bodyIsReplayable { throw reason() }
      if let url = urlRequest.url { log.started(url, attempt: number) }

      let result = await load(urlRequest, over: exchange)
      switch action(after: result, of: urlRequest, for: request, &state) {
      case .deliver: return try result.get()
      case .fail(let error): throw error
      case .refreshToken:
        guard let refresher else { throw NetworkError.unauthorized }
        log.refreshingToken()
        try await tokens.refresh(ifNewerThan: generation, using: refresher)
        reason = { Self.error(of: result, for: request) }
      case .retry(let delay, let error):
        log.retrying(attempt: number + 1, after: delay, error: error)
        try await clock.sleep(for: delay)
        reason = { error }
      }
      try Task.checkCancellation()
      number += 1
      exchange.progress?.restarted()
    }
  }

  private nonisolated(nonsending) func load(_ urlRequest: URLRequest, over exchange: Exchange) async -> Result<
    FetchedResponse, any Error
  > {
    do {
      let response = try await exchange.load(urlRequest)
      guard response.head.statusCode != nil else { return .failure(NetworkError.invalidResponse) }
      return .success(response)
    } catch {
      return .failure(error)
    }
  }

  private func action<T: NetworkRequest>(
    after result: Result<FetchedResponse, any Error>, of urlRequest: URLRequest, for request: T,
    _ state: inout AttemptState
  ) -> AttemptState.Action {
    let random = { Double.random(in: 0...1) }
    switch result {
    case .success(let response):
      return state.answered(
        status: response.head.statusCode ?? 0, bodyIsReplayable: bodyIsReplayable(urlRequest, of: request),
        retryAfter: response.head.retryAfter, random: random, error: { Self.error(of: result, for: request) })
    case .failure(let error):
      return state.failed(
        with: error, bodyIsReplayable: bodyIsReplayable(urlRequest, of: request), wasCancelled: Task.isCancelled,
        retryAfter: nil, random: random)
    }
  }

  /// A request whose `body` makes a new stream each time can be sent again although the last stream is used up.
  private func bodyIsReplayable<T: NetworkRequest>(_ urlRequest: URLRequest, of request: T) -> Bool {
    if urlRequest.bodyIsReplayable { return true }
    guard case .stream(let stream) = request.body?.content else { return true }
    return stream.streamStatus == .notOpen
  }

  private static func error<T: NetworkRequest>(
    of result: Result<FetchedResponse, any Error>, for request: T
  ) -> any Error {
    switch result {
    case .success(let response): ResponseValidation.error(of: response, errorDecoder: request.errorDecoder)
    case .failure(let error): error
    }
  }
}
