import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A client that sends requests over a `URLSession`, or over its replacement on Linux (see ``TransportChoice``), and
/// caches the responses to GETs whose endpoints have a `cacheInterval`.
///
/// It is safe to use from any task or actor; requests run concurrently.
public actor PrismNetworkAdapter: PrismNetworkClient {
  nonisolated let runner: EndpointRunner
  nonisolated let store: URLCacheStore
  nonisolated let revalidations = RevalidationsInProgress()
  private nonisolated let urlSession: URLSession

  /// Creates an adapter with a session of its own.
  ///
  /// - Parameters:
  ///   - configuration: The configuration of the session: timeouts, cookies, header fields, `URLProtocol` classes. Its
  ///     `urlCache` is not used, because the adapter decides what is cached. Defaults to `.default`.
  ///   - cache: The store of the responses. Defaults to `nil`: an in-memory cache that only this adapter uses.
  ///   - retryPolicy: The policy that decides whether and when a failed request is sent again. Defaults to `nil`:
  ///     never.
  ///   - transport: The implementation that sends the requests. Defaults to ``TransportChoice/automatic``.
  public init(
    configuration: URLSessionConfiguration = .default,
    cache: URLCache? = nil,
    retryPolicy: (any PrismRetryPolicy)? = nil,
    transport: TransportChoice = .automatic
  ) {
    self.init(
      configuration: configuration, cache: cache, retryPolicy: retryPolicy, transport: transport,
      clock: ContinuousClock(), now: { Date() })
  }

  /// Creates an adapter with the given clocks, for tests.
  init(
    configuration: URLSessionConfiguration, cache: URLCache?, retryPolicy: (any PrismRetryPolicy)?,
    transport: TransportChoice, clock: any Clock<Duration>, now: @escaping @Sendable () -> Date
  ) {
    let configuration = Self.withoutCache(configuration)
    urlSession = URLSession(configuration: configuration)
    runner = EndpointRunner(
      transport: TransportSelection.transport(for: urlSession, choice: transport),
      retryPolicy: retryPolicy, clock: clock, logger: NetworkLogger(subsystem: "EKNetwork"))
    store = URLCacheStore(cache, now: now)
  }

  /// A closure that receives the log entries of requests, as ``NetworkManager/logHandler`` does: attempts, redirects,
  /// retries, results. Tokens, header values, bodies and query values never appear. Defaults to `nil`.
  public nonisolated var logHandler: NetworkLogHandler? {
    get { runner.logger.handler }
    set { runner.logger.handler = newValue }
  }

  /// A closure that receives the events of requests, as ``NetworkManager/eventHandler`` does, with unredacted URLs,
  /// errors and timings. Defaults to `nil`.
  public nonisolated var eventHandler: NetworkEventHandler? {
    get { runner.eventHandler.withLock { $0 } }
    set { runner.eventHandler.replace(\.self, with: newValue) }
  }

  /// The cache that stores responses as their servers allow it, as ``NetworkManager/httpCache`` does. The responses
  /// that the policies of this adapter store take precedence, for as long as they are fresh. Defaults to `nil`.
  public nonisolated var httpCache: HTTPCache? {
    get { runner.cache.withLock { $0 } }
    set { runner.cache.replace(\.self, with: newValue) }
  }

  /// Whether a GET that is identical to one in flight, header fields included except for `traceparent` and
  /// `tracestate`, waits for that one's response instead of being sent, as with
  /// ``NetworkManager/sharesIdenticalRequests``. Defaults to `false`.
  public nonisolated var sharesIdenticalRequests: Bool {
    get { runner.sharesIdenticalRequests.withLock { $0 } }
    set { runner.sharesIdenticalRequests.withLock { $0 = newValue } }
  }

  /// The middleware around whole requests, as in ``NetworkManager/middleware``. Defaults to none.
  public nonisolated var middleware: [any NetworkMiddleware] {
    get { runner.middleware.withLock { $0.calls } }
    set { runner.middleware.replace(\.calls, with: newValue) }
  }

  /// The middleware around each single request, as in ``NetworkManager/attemptMiddleware``. Defaults to none.
  public nonisolated var attemptMiddleware: [any NetworkMiddleware] {
    get { runner.middleware.withLock { $0.attempts } }
    set { runner.middleware.replace(\.attempts, with: newValue) }
  }

  deinit { urlSession.finishTasksAndInvalidate() }

  /// Sends a request and decodes its response.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - formatter: The formatter for dates that are not in ISO 8601; `nil` if there are none.
  /// - Throws: ``PrismNetworkError``; `CancellationError` at once when the task is cancelled.
  public nonisolated func request<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter?
  ) async throws -> Request.Response {
    try await PrismNetworkFailure.surfacing {
      try await load(request, with: formatter, policy: nil).value()
    }
  }

  /// Sends a request and returns the target of the server's redirect, without following it or waiting for the
  /// response's body.
  ///
  /// - Returns: The absolute URL of the response's `Location`, resolved against that of the request (RFC 3986 §5). It
  ///   may have any scheme.
  /// - Throws: ``PrismNetworkError/invalidResponse`` for a response that is not a redirect; otherwise what
  ///   ``request(on:with:)`` throws.
  public nonisolated func redirect<Request: PrismNetworkRequest>(from request: Request) async throws -> URL {
    try await PrismNetworkFailure.surfacing {
      let urlRequest = try self.urlRequest(for: request.endpoint)
      let response = try await runner.fetch(
        urlRequest, redirectPolicy: .reject, accepting: .range(200..<400),
        limits: ResponseLimits(size: 1 << 20, readsRedirects: false)
      ).response
      guard response.head.isRedirect, let location = response.head.hint("location"),
        let target = ServerURL.resolve(location, against: urlRequest.url)
      else {
        throw PrismNetworkFailure(
          .invalidResponse, url: urlRequest.url, statusCode: response.head.statusCode, data: response.data)
      }
      return target
    }
  }

  nonisolated func urlRequest<Endpoint: PrismNetworkEndpoint>(for endpoint: Endpoint) throws -> URLRequest {
    var urlRequest = try endpoint.makeRequest()
    if let interval = endpoint.timeoutInterval, interval == urlRequest.timeoutInterval {
      urlRequest.setOwnTimeout(interval)
    }
    return urlRequest
  }

  /// Returns a copy of the configuration without a cache. A session with a cache would respond by itself: on Linux with
  /// whatever is stored for that host and path, regardless of the query, the method and the token.
  private static func withoutCache(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
    guard let copy = configuration.copy() as? URLSessionConfiguration else { return configuration }
    copy.urlCache = nil
    copy.requestCachePolicy = .reloadIgnoringLocalCacheData
    return copy
  }
}
