import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension CachingTransport {
  /// Sends a request together with those that ask for the same thing meanwhile, if it is one that can be shared.
  ///
  /// Only one whose body is collected anyway: a stream goes at the pace of its reader, for which no other should wait.
  func fetchTogether(
    _ request: TransportRequest, _ query: CacheQuery, _ entry: CacheEntry?, _ plan: CachePlan
  ) async throws -> TransportResponse {
    guard query.method == "GET", query.range == nil, query.mode == .default || query.mode == .forceCache,
      !query.directives.noCache, request.collectsBody, request.onSend == nil, request.onReceive == nil,
      cache.flights.mayShare(query.key)
    else { return try await fetch(request, query, entry, plan) }
    let isOwn = Locked(false)
    let landing: CacheFlights.Landing
    do {
      landing = try await cache.flights.join(FlightKey(request, query, wire)) {
        isOwn.withLock { $0 = true }
        return try await fly(request, query, entry, plan)
      }
    } catch let error as URLError where error.code == .timedOut && !isOwn.withLock({ $0 }) {
      // It was another one's time that was over.
      return try await fetch(request, query, entry, plan)
    }
    if let response = landing.take() { return response }
    // A request of its own, where this one cannot be shared.
    guard let entry = landing.shared else { return try await fetch(request, query, entry, plan) }
    var status = CacheStatus(forward: plan.forward ?? .uriMiss)
    status.isCollapsed = true
    guard let response = entry.response(to: query, status: status, at: cache.now()) else {
      throw URLError(.badServerResponse)
    }
    cache.count(\.hits)
    return response
  }

  /// The flight itself: reads a body that is going to be stored, so that the others have it.
  private func fly(
    _ request: TransportRequest, _ query: CacheQuery, _ entry: CacheEntry?, _ plan: CachePlan
  ) async throws -> CacheFlights.Landing {
    var response = try await fetch(request, query, entry, plan)
    if let body = response.body as? StoringBody {
      guard response.head.contentLength ?? 0 <= CacheFlights.greatestBody else { return alone(response, query) }
      var chunks: [Data] = []
      var count: Int64 = 0
      while let chunk = try await body.next() {
        chunks.append(chunk)
        count += Int64(chunk.count)
        if count > CacheFlights.greatestBody {
          response.body = PrefixedBody(chunks, body, hasRest: true)
          return alone(response, query)
        }
      }
      response.body = PrefixedBody(chunks, body, hasRest: false)
    }
    // What was stored, or renewed, a moment ago is there for all that the rules allow it.
    guard let stored = cache.find(query).entry,
      case .use = CachePlan(mode: query.mode, request: query.directives, stored: stored.response, now: cache.now())
    else { return alone(response, query) }
    return CacheFlights.Landing(response, shared: stored)
  }

  private func alone(_ response: TransportResponse, _ query: CacheQuery) -> CacheFlights.Landing {
    cache.flights.note(query.key, isShared: false)
    return CacheFlights.Landing(response, shared: nil)
  }
}
