import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkManager {
  /// Sends a request by way of a cache, as a policy says. Requests other than a GET without a body know no cache.
  ///
  /// A stored response belongs to its URL, its header fields, its access token, and what its session adds to it: another
  /// user's request never gets it. Sessions with a delegate, or of your own making, share with no other. Token and base
  /// URL are asked for once for each attempt.
  /// It is decoded each time. With `.cacheThenNetwork` the stored response is returned, and renewed in the
  /// background: ``responses(_:accessToken:policy:cache:ttl:)`` has both.
  ///
  /// - Parameters:
  ///   - request: What to send.
  ///   - accessToken: Gives the token for `Authorization: Bearer …`. Defaults to `nil`.
  ///   - policy: How to use the cache.
  ///   - cache: Where responses are kept. Managers may share one.
  ///   - ttl: How long a response is fresh. Defaults to ``PrismCacheEntry/defaultTTL``.
  /// - Throws: What `send` without a policy throws. Failures in the background are not reported.
  public nonisolated func send<T: NetworkRequest & Sendable>(
    _ request: T, accessToken: (@Sendable () -> String?)? = nil, policy: PrismCachePolicy, cache: PrismResponseCache,
    ttl: Duration = PrismCacheEntry.defaultTTL
  ) async throws -> T.Response where T.Response: Sendable {
    try await load(request, accessToken: accessToken, policy: policy, cache: cache, ttl: ttl).value()
  }

  /// The responses to a request, as a policy has them: with `.cacheThenNetwork` the stored one and then the network's.
  ///
  /// The parameters are those of ``send(_:accessToken:policy:cache:ttl:)``.
  public nonisolated func responses<T: NetworkRequest & Sendable>(
    _ request: T, accessToken: (@Sendable () -> String?)? = nil, policy: PrismCachePolicy = .cacheThenNetwork,
    cache: PrismResponseCache, ttl: Duration = PrismCacheEntry.defaultTTL
  ) -> PrismResponses<T.Response> where T.Response: Sendable {
    PrismResponses { try self.load(request, accessToken: accessToken, policy: policy, cache: cache, ttl: ttl) }
  }

  private nonisolated func load<T: NetworkRequest & Sendable>(
    _ request: T, accessToken: (@Sendable () -> String?)?, policy: PrismCachePolicy, cache: PrismResponseCache,
    ttl: Duration
  ) throws -> CachedLoad<T.Response> where T.Response: Sendable {
    let runner = runner(over: transport)
    // Built once, for the key and for the first attempt: asked a second time, token and base URL may be others.
    let built = try runner.build(runner.source(request, baseURL, accessToken))
    let urlRequest = built.urlRequest
    let isCached = request.methodName == "GET" && urlRequest.httpBody == nil && urlRequest.httpBodyStream == nil
    let session = runner.transport.sessionSettings
    return CachedLoad(
      policy: policy, key: isCached ? CacheKey(try HopRequest(urlRequest, session: session)) : nil, store: cache,
      revalidations: cache.revalidations,
      fetch: {
        let (response, sent) = try await self.runner(over: self.transport).fetch(
          request, firstBuilt: built, baseURL: self.baseURL, accessToken: accessToken)
        return (PrismCacheEntry(response, ttl: ttl), isCached ? CacheKey(sent) : nil)
      },
      decode: { entry in
        guard let response = entry.urlResponse(for: urlRequest.url) else { throw NetworkError.invalidResponse }
        return try Self.decode(
          request, CollectedResponse(head: ResponseHead(response), data: entry.data),
          self.decoderProvider(for: request))
      })
  }
}
