import Foundation

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
    configuration: URLSessionConfiguration = .default, cache: URLCache? = nil,
    retryPolicy: (any PrismRetryPolicy)? = nil, transport: TransportChoice = .automatic
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
    get { runner.settings.withLock { $0.eventHandler } }
    set { runner.settings.replace(\.eventHandler, with: newValue) }
  }

  /// The cache that stores responses as their servers allow it, as ``NetworkManager/httpCache`` does. The responses
  /// that the policies of this adapter store take precedence, for as long as they are fresh. Defaults to `nil`.
  public nonisolated var httpCache: HTTPCache? {
    get { runner.settings.withLock { $0.httpCache } }
    set { runner.settings.replace(\.httpCache, with: newValue) }
  }

  /// Whether a GET that is identical to one in flight, header fields included except for `traceparent` and
  /// `tracestate`, waits for that one's response instead of being sent, as with
  /// ``NetworkManager/sharesIdenticalRequests``. With ``middleware``, a GET that has a `cacheInterval` or a policy is
  /// not shared; with ``attemptMiddleware``, nothing is. Defaults to `false`.
  public nonisolated var sharesIdenticalRequests: Bool {
    get { runner.settings.withLock { $0.sharesIdenticalRequests } }
    set { runner.settings.replace(\.sharesIdenticalRequests, with: newValue) }
  }

  /// The middleware around whole requests, as in ``NetworkManager/middleware``. Defaults to none.
  public nonisolated var middleware: [any NetworkMiddleware] {
    get { runner.settings.withLock { $0.middleware } }
    set { runner.settings.replace(\.middleware, with: newValue) }
  }

  /// The middleware around each single request, as in ``NetworkManager/attemptMiddleware``. Defaults to none.
  public nonisolated var attemptMiddleware: [any NetworkMiddleware] {
    get { runner.settings.withLock { $0.attemptMiddleware } }
    set { runner.settings.replace(\.attemptMiddleware, with: newValue) }
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
  /// - Returns: The absolute URL of the response's `Location`, resolved against that of the request as it was sent
  ///   (RFC 9110 §10.2.2). It may have any scheme.
  /// - Throws: ``PrismNetworkError/invalidResponse`` for a response that is not a redirect; otherwise what
  ///   ``request(on:with:)`` throws.
  public nonisolated func redirect<Request: PrismNetworkRequest>(from request: Request) async throws -> URL {
    try await PrismNetworkFailure.surfacing {
      let own = try self.own(for: request.endpoint)
      let fetched = try await runner.fetch(
        own, redirectPolicy: .reject, accepting: .range(200..<400),
        limits: ResponseLimits(size: 1 << 20, readsRedirects: false))
      // Of the request as it was sent: call middleware may have changed the URL of the endpoint.
      let (response, url) = (fetched.response, fetched.sent.own.url)
      guard response.head.isRedirect, let location = response.head.hint("location"),
        let target = ServerURL.resolve(location, against: url)
      else {
        throw PrismNetworkFailure(
          .invalidResponse, url: url, statusCode: response.head.statusCode, data: response.data)
      }
      return target
    }
  }

  /// Returns the request of an endpoint, without what the session adds.
  nonisolated func own<Endpoint: PrismNetworkEndpoint>(for endpoint: Endpoint) throws -> HTTPRequest {
    var own = try endpoint.makeRequest()
    if let interval = endpoint.timeoutInterval, interval == own.timeoutInterval { own.setOwnTimeout(interval) }
    return own
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

extension PrismNetworkAdapter {
  /// Sends a request as a policy specifies, whether or not its endpoint has a `cacheInterval`; without one, a response
  /// is fresh for ``PrismCacheEntry/defaultTTL``. Only GET requests are cached, and not those with a form as their body.
  ///
  /// With `.cacheThenNetwork` the stored response is returned and refreshed in the background;
  /// ``responses(on:with:policy:)`` returns both.
  ///
  /// - Throws: What ``request(on:with:)`` throws. Failures in the background are not reported.
  public nonisolated func request<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter? = nil, policy: PrismCachePolicy
  ) async throws -> Request.Response {
    try await PrismNetworkFailure.surfacing {
      try await load(request, with: formatter, policy: policy).value()
    }
  }

  /// Returns the responses to a request, as a policy specifies: with `.cacheThenNetwork` the stored one and then the
  /// one from the network.
  ///
  /// ```swift
  /// for try await users in client.responses(on: ListUsersRequest()) {
  ///   show(users)  // the stored response at once, then the new one
  /// }
  /// ```
  public nonisolated func responses<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter? = nil, policy: PrismCachePolicy = .cacheThenNetwork
  ) -> PrismResponses<Request.Response> {
    PrismResponses { try self.load(request, with: formatter, policy: policy) }
  }

  /// Returns the stored response to a GET, however old, without sending a request, and so also while a
  /// ``CircuitBreaker`` or a ``RateLimiter`` sends none.
  ///
  /// - Throws: ``PrismNetworkError/noCache`` if there is none, or none that can be decoded.
  public nonisolated func cachedResponse<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter? = nil
  ) async throws -> Request.Response {
    try await PrismNetworkFailure.surfacing {
      let own = try own(for: request.endpoint)
      guard own.isCacheable, let data = try await storedData(for: own),
        let value = try? request.decode(data: data, with: formatter)
      else { throw PrismNetworkFailure(.noCache, url: own.url) }
      return value
    }
  }

  /// Returns the body of the stored response to a request, behind the middleware if there is any.
  private nonisolated func storedData(for own: HTTPRequest) async throws -> Data? {
    guard runner.hasMiddleware else { return store.entry(for: CacheKey(try hop(own)))?.entry.data }
    let lookup = PolicyLookup(nil, in: store)
    do {
      let fetched = try await runner.fetch(own, lookup: lookup)
      return lookup.found(for: fetched.sent) == nil ? nil : fetched.response.data
    } catch let error where !(error is CancellationError) {
      return nil
    }
  }

  /// Removes the stored response to a GET, as this client would send it now: for the current user. Others remain. The
  /// response to such a request that is under way is not stored afterwards.
  ///
  /// - Throws: ``PrismNetworkError/invalidURL`` for an endpoint without a URL; `CancellationError` when the task is
  ///   cancelled; the error of middleware that does not pass the request on, without which the response is not known:
  ///   nothing has been removed then.
  public nonisolated func removeCachedResponse<Request: PrismNetworkRequest>(on request: Request) async throws {
    try await PrismNetworkFailure.surfacing {
      let own = try own(for: request.endpoint)
      guard own.isCacheable else { return }
      guard runner.hasMiddleware else { return store.remove(CacheKey(try hop(own))) }
      let lookup = PolicyLookup(nil, in: store)
      var key: CacheKey?
      do {
        key = lookup.found(for: try await runner.fetch(own, lookup: lookup).sent)?.key
      } catch let failure as PrismNetworkFailure {
        // After the lookup, it is that nothing is stored, or that middleware has refused what is.
        guard lookup.latestKey != nil else { throw failure }
      }
      if let key = key ?? lookup.latestKey { store.remove(key) }
    }
  }

  /// Removes everything from the `URLCache` of this client, for all users: when a user signs out, for example. A cache
  /// that was passed to the initialiser is emptied, too, whatever else it contains. The responses to requests that are
  /// under way are not stored afterwards.
  public nonisolated func removeAllCachedResponses() { store.removeAll() }

  /// - Parameter policy: `nil` for the policy that follows from the endpoint's `cacheInterval`.
  nonisolated func load<Request: PrismNetworkRequest>(
    _ request: Request, with formatter: DateFormatter?, policy: PrismCachePolicy?
  ) throws -> CachedLoad<Request.Response> {
    let endpoint = request.endpoint
    let own = try own(for: endpoint)
    let interval = Duration(cacheInterval: endpoint.cacheInterval)
    let isCached = own.isCacheable && (interval != nil || policy != nil)
    return CachedLoad(
      policy: policy ?? .cacheFirst, key: isCached ? CacheKey(try hop(own)) : nil,
      store: store, revalidations: revalidations, isBehindMiddleware: runner.hasMiddleware,
      // Captures the adapter itself, not its parts: its session has to live as long as a request in the background.
      fetch: { lookup, isFirst in
        let own = isFirst ? own : try self.own(for: request.endpoint)
        let fetched = try await self.runner.fetch(own, lookup: lookup)
        let key = lookup == nil && isCached && own.isCacheable ? CacheKey(responseTo: fetched.sent) : nil
        return .init(
          fetched, lookup, key: key, ttl: interval ?? PrismCacheEntry.defaultTTL, at: self.store.now())
      },
      decode: { try EntityDecoding.decode($0, for: request, sentAs: $1 ?? own, with: formatter) })
  }

  /// Returns the request as it is sent.
  private nonisolated func hop(_ own: HTTPRequest) throws -> HopRequest {
    do { return try HopRequest(own, session: runner.effectiveTransport.sessionSettings) } catch {
      throw PrismNetworkFailure(causedBy: error, url: own.url)
    }
  }
}

extension Duration {
  /// Creates the duration of a cache interval; `nil` unless there is an interval and it is positive.
  init?(cacheInterval: TimeInterval?) {
    guard let cacheInterval, cacheInterval > 0 else { return nil }
    // An infinite interval becomes a century.
    self.init(timeInterval: min(cacheInterval, 1e10))
  }
}
