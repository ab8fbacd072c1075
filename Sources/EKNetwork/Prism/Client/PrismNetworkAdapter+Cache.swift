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
    try await PrismNetworkFailure.surfacing {
      let urlRequest = try urlRequest(for: request.endpoint)
      guard urlRequest.isCacheable, let data = try await storedData(for: urlRequest),
        let value = try? request.decode(data: data, with: formatter)
      else { throw PrismNetworkFailure(.noCache, url: urlRequest.url) }
      return value
    }
  }

  /// Returns the body of the stored response to a request, behind the middleware if there is any.
  private nonisolated func storedData(for urlRequest: URLRequest) async throws -> Data? {
    guard runner.hasMiddleware else { return store.entry(for: CacheKey(try hop(urlRequest)))?.entry.data }
    let lookup = PolicyLookup(.storedOnly, in: store)
    do {
      let (response, sent) = try await runner.fetch(urlRequest, lookup: lookup)
      return lookup.found(for: sent) == nil ? nil : response.data
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      return nil
    }
  }

  /// Removes the stored response to a GET, as this client would send it now: for the current user. Others remain.
  ///
  /// - Throws: ``PrismNetworkError/invalidURL`` for an endpoint without a URL; `CancellationError` when the task is
  ///   cancelled.
  public nonisolated func removeCachedResponse<Request: PrismNetworkRequest>(on request: Request) async throws {
    try await PrismNetworkFailure.surfacing {
      let urlRequest = try urlRequest(for: request.endpoint)
      guard urlRequest.isCacheable else { return }
      guard runner.hasMiddleware else { return store.remove(CacheKey(try hop(urlRequest))) }
      let lookup = PolicyLookup(.storedOnly, in: store)
      let sent = try? await runner.fetch(urlRequest, lookup: lookup).sent
      try Task.checkCancellation()
      if let sent, let found = lookup.found(for: sent) { store.remove(found.key) }
    }
  }

  /// Removes everything from the `URLCache` of this client, for all users: when a user signs out, for example. A cache
  /// that was passed to the initialiser is emptied, too, whatever else it contains.
  public nonisolated func removeAllCachedResponses() { store.removeAll() }

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
      store: store, revalidations: revalidations, isBehindMiddleware: runner.hasMiddleware,
      // Captures the adapter itself, not its parts: its session has to live as long as a request in the background.
      fetch: { lookup, isFirst in
        let urlRequest = isFirst ? urlRequest : try self.urlRequest(for: request.endpoint)
        let (response, sent) = try await self.runner.fetch(urlRequest, lookup: lookup)
        let ttl = interval ?? PrismCacheEntry.defaultTTL
        let entry = PrismCacheEntry(response, ttl: ttl, at: self.store.now())
        if let lookup {
          let kept = lookup.kept(of: sent, ttl: ttl, at: self.store.now())
          return .init(entry: entry, kept: kept, sent: sent.own, found: lookup.found(for: sent))
        }
        return .init(
          entry: entry, kept: isCached && urlRequest.isCacheable ? CacheKey(responseTo: sent).map { (entry, $0) } : nil,
          sent: sent.own)
      },
      decode: { try EntityDecoding.decode($0, for: request, sentAs: $1 ?? urlRequest, with: formatter) })
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
