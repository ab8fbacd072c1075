import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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

  /// Returns the stored response to a GET, however old, without sending a request.
  ///
  /// - Throws: ``PrismNetworkError/noCache`` if there is none, or none that can be decoded.
  public nonisolated func cachedResponse<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter? = nil
  ) async throws -> Request.Response {
    try PrismNetworkFailure.surfacing {
      let urlRequest = try urlRequest(for: request.endpoint)
      guard urlRequest.isCacheable, let entry = store.entry(for: CacheKey(try hop(urlRequest)))?.entry,
        let value = try? request.decode(data: entry.data, with: formatter)
      else { throw PrismNetworkFailure(.noCache, url: urlRequest.url) }
      return value
    }
  }

  /// - Parameter policy: `nil` for the policy that follows from the endpoint's `cacheInterval`.
  nonisolated func load<Request: PrismNetworkRequest>(
    _ request: Request, with formatter: DateFormatter?, policy: PrismCachePolicy?
  ) throws -> CachedLoad<Request.Response> {
    let endpoint = request.endpoint
    let urlRequest = try urlRequest(for: endpoint)
    let interval = Duration(cacheInterval: endpoint.cacheInterval)
    let isCached = urlRequest.isCacheable && (interval != nil || policy != nil)
    return CachedLoad(
      policy: policy ?? .cacheFirst, key: isCached ? CacheKey(try hop(urlRequest)) : nil,
      store: store, revalidations: revalidations,
      // Captures the adapter itself, not its parts: its session has to live as long as a request in the background.
      fetch: {
        let (response, sent) = try await self.runner.fetch(urlRequest)
        let ttl = interval ?? PrismCacheEntry.defaultTTL
        let entry = PrismCacheEntry(response, ttl: ttl, at: self.store.now())
        return (entry, isCached ? CacheKey(responseTo: sent) : nil)
      },
      decode: { try EntityDecoding.decode($0, for: request, sentAs: urlRequest, with: formatter) })
  }
}

extension PrismNetworkAdapter {
  /// Returns the request as it is sent.
  private nonisolated func hop(_ urlRequest: URLRequest) throws -> HopRequest {
    do { return try HopRequest(urlRequest, session: runner.effectiveTransport.sessionSettings) } catch {
      throw PrismNetworkFailure(causedBy: error, url: urlRequest.url)
    }
  }
}

extension URLRequest {
  /// Whether the response may be stored: the request is a GET. The key does not contain what a stream contains.
  fileprivate var isCacheable: Bool { httpMethod == "GET" && httpBodyStream == nil }
}

extension Duration {
  /// Creates the duration of a cache interval; `nil` unless there is an interval and it is positive.
  init?(cacheInterval: TimeInterval?) {
    guard let cacheInterval, cacheInterval > 0 else { return nil }
    // An infinite interval becomes a century.
    self.init(timeInterval: min(cacheInterval, 1e10))
  }
}
