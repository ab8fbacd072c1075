import Foundation

extension NetworkManager {
  /// Sends a request through a cache, as a policy specifies. Only GET requests without a body are cached.
  ///
  /// A stored response is keyed by its URL, its header fields, its access token, and what its session and middleware
  /// add to it, so one user's request never gets another user's response; middleware also receives stored responses. A
  /// session that has a delegate, or is not a `URLSession`, shares no responses with other sessions. The token and the
  /// base URL are read once for each attempt. The response is decoded each time. With `.cacheThenNetwork` the stored
  /// response is returned and refreshed in the background; `responses(_:accessToken:policy:cache:ttl:)` returns both.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`. Defaults to `nil`.
  ///   - policy: The policy for using the cache.
  ///   - cache: The store of the responses. Managers may share one.
  ///   - ttl: The time for which a response is fresh. Defaults to ``PrismCacheEntry/defaultTTL``.
  /// - Throws: What `send` without a policy throws. Failures in the background are not reported.
  public nonisolated func send<T: NetworkRequest & Sendable>(
    _ request: T, accessToken: (@Sendable () -> String?)? = nil, policy: PrismCachePolicy, cache: PrismResponseCache,
    ttl: Duration = PrismCacheEntry.defaultTTL
  ) async throws -> T.Response where T.Response: Sendable {
    try await load(request, { AccessToken(accessToken) }, policy: policy, cache: cache, ttl: ttl).value()
  }

  /// Returns the responses to a request, as a policy specifies: with `.cacheThenNetwork` the stored one and then the
  /// one from the network.
  ///
  /// The parameters are those of `send(_:accessToken:policy:cache:ttl:)`.
  public nonisolated func responses<T: NetworkRequest & Sendable>(
    _ request: T, accessToken: (@Sendable () -> String?)? = nil, policy: PrismCachePolicy = .cacheThenNetwork,
    cache: PrismResponseCache, ttl: Duration = PrismCacheEntry.defaultTTL
  ) -> PrismResponses<T.Response> where T.Response: Sendable {
    PrismResponses {
      try await self.load(request, { AccessToken(accessToken) }, policy: policy, cache: cache, ttl: ttl)
    }
  }

  /// Sends a request through a cache, with a token that is obtained asynchronously. See
  /// `send(_:accessToken:policy:cache:ttl:)` for everything else.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - accessToken: Returns the token; called also for a response that is stored, which belongs to the token. Its error is
  ///     thrown.
  ///   - policy: The policy for using the cache.
  ///   - cache: The store of the responses. Managers may share one.
  ///   - ttl: The time for which a response is fresh. Defaults to ``PrismCacheEntry/defaultTTL``.
  @_disfavoredOverload
  public nonisolated func send<T: NetworkRequest & Sendable>(
    _ request: T, accessToken: @escaping @Sendable () async throws -> String?, policy: PrismCachePolicy,
    cache: PrismResponseCache, ttl: Duration = PrismCacheEntry.defaultTTL
  ) async throws -> T.Response where T.Response: Sendable {
    try await load(request, { AccessToken(accessToken) }, policy: policy, cache: cache, ttl: ttl).value()
  }

  /// Returns the responses to a request, as a policy specifies, with a token that is obtained asynchronously.
  ///
  /// The parameters are those of `send(_:accessToken:policy:cache:ttl:)`.
  @_disfavoredOverload
  public nonisolated func responses<T: NetworkRequest & Sendable>(
    _ request: T, accessToken: @escaping @Sendable () async throws -> String?,
    policy: PrismCachePolicy = .cacheThenNetwork, cache: PrismResponseCache,
    ttl: Duration = PrismCacheEntry.defaultTTL
  ) -> PrismResponses<T.Response> where T.Response: Sendable {
    PrismResponses {
      try await self.load(request, { AccessToken(accessToken) }, policy: policy, cache: cache, ttl: ttl)
    }
  }

  /// - Parameter token: Returns the token of an exchange; there may be several at a time.
  nonisolated func load<T: NetworkRequest & Sendable>(
    _ request: T, _ token: @escaping @Sendable () -> AccessToken, policy: PrismCachePolicy, cache: PrismResponseCache,
    ttl: Duration
  ) async throws -> CachedLoad<T.Response> where T.Response: Sendable {
    let first = token()
    let runner = runner(over: transport, token: first.renewal)
    // Built once, for both the key and an attempt that follows at once: a second read of the token or the base URL may give other
    // values.
    let source = runner.source(request, baseURL, first.read)
    let built: RequestRunner.BuiltRequest
    if let renewal = first.renewal {
      built = try await runner.build(
        source, with: renewal,
        until: runner.defaults.reading { request.totalTimeout }.map { .now + max(.zero, $0).sleepable })
    } else {
      built = try runner.build(source)
    }
    let own = built.request
    let isCached = request.methodName == "GET" && own.body == nil
    let leavesOrigin = RequestBuilder.leavesOrigin(request.targetURL, baseURL: baseURL())
    let hop = try HopRequest(
      own, session: runner.transport.sessionSettings, hasLeftOrigin: leavesOrigin,
      credential: leavesOrigin ? nil : request.credential)
    // Unchecked: by its documentation, the closure may be called on any thread.
    nonisolated(unsafe) let decoder = responseDecoder(for: request)
    return CachedLoad(
      policy: policy, key: isCached ? CacheKey(hop, decodesContent: request.decodesContent) : nil, store: cache,
      revalidations: cache.revalidations, isBehindMiddleware: hasMiddleware,
      fetch: { lookup, isFirst in
        let token = token()
        let fetched = try await self.runner(
          over: self.transport, lookup: lookup, token: token.renewal
        ).fetch(request, firstBuilt: isFirst ? built : nil, baseURL: self.baseURL, accessToken: token.read)
        if let error = fetched.response.readError { throw error }
        let isKept = isCached && lookup == nil
        let key = isKept ? CacheKey(responseTo: fetched.sent, decodesContent: request.decodesContent) : nil
        return .init(fetched, lookup, key: key, ttl: ttl, at: Date())
      },
      decode: { entry, sent in
        guard let response = entry.urlResponse(for: (sent ?? own).url),
          decoder.defaults.reading({ request.acceptedStatuses }).contains(entry.statusCode)
        else {
          throw NetworkError.invalidResponse
        }
        return try decoder.decode(
          request, CollectedResponse(head: ResponseHead(response), data: entry.data))
      })
  }
}

extension CachedLoad.Fetched {
  /// Creates what was fetched, and what to store of it: with a lookup, the response as it was before middleware received it.
  init(_ fetched: RequestRunner.Fetched, _ lookup: PolicyLookup?, key: CacheKey?, ttl: Duration, at date: Date) {
    entry = PrismCacheEntry(fetched.response, ttl: ttl, at: date)
    sent = fetched.sent.own
    isBehindUnstorableRedirect = fetched.response.head.isBehindUnstorableRedirect
    guard let lookup else {
      let entry = entry
      kept = key.map { (entry, $0) }
      return
    }
    kept = lookup.kept(of: fetched.sent, ttl: ttl, at: date)
    found = lookup.found(for: fetched.sent)
  }
}
