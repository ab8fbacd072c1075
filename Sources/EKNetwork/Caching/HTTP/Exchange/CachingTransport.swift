import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport with a cache in front of it, which acts on the ``CachePlan`` of each request, including redirects and
/// retries, as these are handled above it.
struct CachingTransport: Transport {
  let wire: any Transport
  let cache: HTTPCache

  var resolvesRedirects: Bool { wire.resolvesRedirects }
  var resourceTimeout: Duration? { wire.resourceTimeout }
  var implementation: TransportDescription? { wire.implementation }
  var sessionSettings: SessionSettings { wire.sessionSettings }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    guard var query = CacheQuery(request, salt: cache.salt) else {
      return try await wire.start(request)
    }
    query.epoch = cache.epoch(of: query.key)
    guard query.isCacheable else {
      return query.mayBeSent ? try await uncached(request, query) : try unavailable(query)
    }

    let (entry, isVaryMiss) = cache.find(query)
    let now = cache.now()
    let plan = CachePlan(
      mode: query.mode, request: query.directives, stored: entry?.response, isVaryMiss: isVaryMiss, now: now)
    if let entry, query.range == nil || entry.range(of: query) != nil {
      switch plan {
      case .use:
        if let response = hit(entry, request, query, now) { return response }
      case .useAndRevalidate:
        if let response = hit(entry, request, query, now) {
          revalidate(entry, request, query)
          return response
        }
      default: break
      }
    }
    return query.mayBeSent ? try await fetchTogether(request, query, entry, plan) : try unavailable(query)
  }

  private func hit(
    _ entry: CacheEntry, _ request: TransportRequest, _ query: CacheQuery, _ now: Date
  ) -> TransportResponse? {
    let response = entry.response(
      to: query, status: CacheStatus(), at: now, onReceive: request.onReceive,
      remainder: remainder(of: entry, for: request, query))
    guard let response else { return nil }
    cache.count(\.hits)
    return response
  }

  /// Returns a 504 for a request with the `only-if-cached` directive (RFC 9111 §5.2.1.7), and throws for the cache
  /// mode.
  private func unavailable(_ query: CacheQuery) throws -> TransportResponse {
    guard !query.isOnlyIfCached else {
      throw URLError(
        .resourceUnavailable,
        userInfo: [
          NSLocalizedDescriptionKey: "Nothing is stored for the request, which may not be sent",
          NSURLErrorFailingURLErrorKey: query.url,
        ])
    }
    let status = CacheStatus(forward: .bypass, detail: "only-if-cached")
    guard
      let head = ResponseHead.make(
        status: 504, reason: "Gateway Timeout",
        fields: HeaderFieldList([("Content-Length", "0"), (CacheStatus.field, status.text)]), url: query.url)
    else { throw URLError(.resourceUnavailable) }
    return TransportResponse(head: head, body: BufferedBody(Data()))
  }
}
