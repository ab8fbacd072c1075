import Foundation

/// A transport with a cache in front of it, which acts on the ``CachePlan`` of each request, including redirects and
/// retries, as these are handled above it.
struct CachingTransport: WrappingTransport {
  let wire: any Transport
  let cache: HTTPCache

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    var query = CacheQuery(request, salt: cache.salt)
    query.epoch = cache.epoch(of: query.key)
    guard query.isCacheable else {
      return query.mayBeSent ? try await uncached(request, query) : try unavailable(query)
    }

    let (entry, isVaryMiss) = cache.find(query)
    let now = cache.now()
    let plan = CachePlan(
      mode: query.mode, request: query.directives, stored: entry?.response, isVaryMiss: isVaryMiss, now: now)
    if plan.forward == nil, let entry, query.range == nil || entry.range(of: query) != nil,
      let response = response(of: entry, request, query, CacheStatus(), now)
    {
      cache.count(\.hits)
      if plan == .useAndRevalidate { revalidateInBackground(request, query) }
      return response
    }
    return query.mayBeSent ? try await fetchTogether(request, query, entry, plan) : try unavailable(query)
  }

  @inline(never)
  func response(
    of entry: CacheEntry, _ request: TransportRequest, _ query: CacheQuery, _ status: CacheStatus, _ now: Date,
    confirmation: HeaderFieldList? = nil
  ) -> TransportResponse? {
    entry.response(
      to: query, status: status, at: now, confirmation: confirmation, onReceive: request.onReceive,
      remainder: remainder(of: entry, for: request, query))
  }

  /// Returns a 504 for a request with the `only-if-cached` directive (RFC 9111 §5.2.1.7), and throws for the cache
  /// mode.
  @inline(never)
  private func unavailable(_ query: CacheQuery) throws -> TransportResponse {
    guard !query.isOnlyIfCached else {
      throw URLError(
        .resourceUnavailable, url: query.url, description: "Nothing is stored for the request, which may not be sent")
    }
    let status = CacheStatus(forward: .bypass, detail: "only-if-cached")
    guard
      let head = ResponseHead.make(
        status: 504, reason: "Gateway Timeout",
        fields: HeaderFieldList([("Content-Length", "0"), (CacheStatus.field, status.text)]), url: query.url)
    else { throw URLError(.resourceUnavailable) }
    return TransportResponse(head: head, body: BufferedBody(Data()))
  }

  /// Sends a request together with concurrent requests for the same response, if it can be shared.
  ///
  /// Only requests whose body is collected are shared: a stream proceeds at the pace of its reader, for which no other
  /// request should wait.
  private func fetchTogether(
    _ request: TransportRequest, _ query: CacheQuery, _ entry: CacheEntry?, _ plan: CachePlan
  ) async throws -> TransportResponse {
    guard query.method == "GET", query.range == nil, query.mode == .default || query.mode == .forceCache,
      !query.directives.noCache, request.collectsBody, request.onSend == nil, request.onReceive == nil,
      request.onInterim == nil, request.ownDeadline == nil, cache.flights.mayShare(query.key)
    else { return try await fetch(request, query, entry, plan) }
    let isOwn = Locked(false)
    let shared: CacheEntry?
    do {
      let result = try await cache.flights.underWay.run(FlightKey(request, query, wire)) {
        isOwn.withLock { $0 = true }
        return try await fetchShared(request, query, entry, plan)
      }
      // Its cookies, for example, are those of the session by which it was requested.
      if isOwn.withLock({ $0 }), let response = result.take() { return response }
      // The result itself is not kept: a response that nobody has taken would hold its connection.
      shared = result.shared
    } catch let error as URLError where error.code == .timedOut && !isOwn.withLock({ $0 }) {
      // The timeout was that of another request.
      FlightFailure.received(nil)
      return try await fetch(request, query, entry, plan)
    }
    // The response cannot be shared, or depends on a field that flights ignore: send this request separately.
    guard let entry = shared, query.selects(entry.response) else {
      return try await fetch(request, query, entry, plan)
    }
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

  @inline(never)
  private func unshared(_ response: TransportResponse, _ query: CacheQuery) -> CacheFlights.SharedResult {
    cache.flights.note(query.key, isShared: false)
    return CacheFlights.SharedResult(response, shared: nil)
  }

  /// Returns a source for the rest of a stored body whose file turns out to be damaged: the server, if it may be
  /// contacted and still has the same bytes (RFC 9110 §13.1.5). Returns `nil` if that cannot be determined.
  private func remainder(
    of entry: CacheEntry, for request: TransportRequest, _ query: CacheQuery
  ) -> DiskBodyReader.Remainder? {
    guard case .file = entry.body, query.mode != .onlyIfCached, !query.directives.onlyIfCached,
      entry.response.status == 200, !entry.response.hasContentCoding, let tag = entry.response.validators.strongTag
    else { return nil }
    return { range in
      var request = request
      request.onReceive = nil
      let last = range.upperBound - 1
      request.hop = request.hop.sentAgain().sending([
        ("Range", "bytes=\(range.lowerBound)-\(last)"), ("If-Range", tag),
      ])
      let response = try await wire.start(request)
      let part = response.head.fields.value("content-range").flatMap { ContentRange($0) }
      guard response.head.statusCode == 206, part?.range == range.lowerBound...last, part?.total == entry.length else {
        response.body.cancel()
        throw URLError(
          .networkConnectionLost, url: nil,
          description: "The stored body of the response is damaged, and the server has another")
      }
      return response.body
    }
  }
}
