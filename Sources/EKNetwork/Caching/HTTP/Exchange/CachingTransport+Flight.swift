import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension CachingTransport {
  /// Sends a request together with concurrent requests for the same response, if it can be shared.
  ///
  /// Only requests whose body is collected are shared: a stream proceeds at the pace of its reader, for which no other
  /// request should wait.
  func fetchTogether(
    _ request: TransportRequest, _ query: CacheQuery, _ entry: CacheEntry?, _ plan: CachePlan
  ) async throws -> TransportResponse {
    guard query.method == "GET", query.range == nil, query.mode == .default || query.mode == .forceCache,
      !query.directives.noCache, request.collectsBody, request.onSend == nil, request.onReceive == nil,
      !request.isTimeLimited,
      cache.flights.mayShare(query.key)
    else { return try await fetch(request, query, entry, plan) }
    let isOwn = Locked(false)
    let result: CacheFlights.SharedResult
    do {
      result = try await cache.flights.join(FlightKey(request, query, wire)) {
        isOwn.withLock { $0 = true }
        return try await fetchShared(request, query, entry, plan)
      }
    } catch let error as URLError where error.code == .timedOut && !isOwn.withLock({ $0 }) {
      // The timeout was that of another request.
      return try await fetch(request, query, entry, plan)
    }
    if let response = result.take() { return response }
    // The response cannot be shared: send this request separately.
    guard let entry = result.shared else { return try await fetch(request, query, entry, plan) }
    var status = CacheStatus(forward: plan.forward ?? .uriMiss)
    status.isCollapsed = true
    guard let response = entry.response(to: query, status: status, at: cache.now()) else {
      throw URLError(.badServerResponse)
    }
    cache.count(\.hits)
    return response
  }

  /// Performs the flight: reads a body that is being stored, so that the other requests can use it.
  private func fetchShared(
    _ request: TransportRequest, _ query: CacheQuery, _ entry: CacheEntry?, _ plan: CachePlan
  ) async throws -> CacheFlights.SharedResult {
    var response = try await fetch(request, query, entry, plan)
    if let body = response.body as? StoringBody {
      guard response.head.contentLength ?? 0 <= CacheFlights.greatestBody else { return unshared(response, query) }
      var chunks: [Data] = []
      var count: Int64 = 0
      while let chunk = try await body.next() {
        chunks.append(chunk)
        count += Int64(chunk.count)
        if count > CacheFlights.greatestBody {
          response.body = PrefixedBody(chunks, body, hasRest: true)
          return unshared(response, query)
        }
      }
      response.body = PrefixedBody(chunks, body, hasRest: false)
    }
    // A response stored or renewed a moment ago can be used by all whom the rules allow to use it.
    guard let stored = cache.find(query).entry,
      case .use = CachePlan(mode: query.mode, request: query.directives, stored: stored.response, now: cache.now())
    else { return unshared(response, query) }
    return CacheFlights.SharedResult(response, shared: stored)
  }

  private func unshared(_ response: TransportResponse, _ query: CacheQuery) -> CacheFlights.SharedResult {
    cache.flights.note(query.key, isShared: false)
    return CacheFlights.SharedResult(response, shared: nil)
  }
}
