import Foundation

extension CachingTransport {
  /// RFC 5861 §4.
  private static let errorStatuses: Set<Int> = [500, 502, 503, 504]

  func fetch(
    _ request: TransportRequest, _ query: CacheQuery, _ entry: CacheEntry?, _ plan: CachePlan
  ) async throws -> TransportResponse {
    // If the plan gives no reason, it is a range that the stored response cannot provide.
    let status = CacheStatus(forward: plan.forward ?? .request)
    var isValidating = false
    if case .validate = plan {
      // A HEAD has no body to validate. A server evaluates the condition before the range (RFC 9110 §13.2.2).
      isValidating = query.method == "GET" && (query.range == nil || entry?.range(of: query) != nil)
    }
    let sent = adding(isValidating ? entry?.response.validators.conditionalFields ?? [] : [], to: request, query)
    let requestTime = cache.now()
    let response: TransportResponse
    do {
      response = try await wire.start(sent)
    } catch {
      guard !error.isCancellation, !Task.isCancelled, let stale = replacement(for: nil, entry, request, query, status)
      else { throw error }
      return stale
    }
    guard let code = response.head.statusCode else { return response }
    if isValidating, code == 304, let entry {
      // The stored response that is returned instead says nothing about the password.
      request.hop.notePassword(provenBy: response.head, of: wire)
      guard Freshening.applies(response.head.fields, to: entry.response.fields) else {
        // The 304 is for a version other than the stored one (RFC 9111 §4.3.4).
        response.body.cancel()
        cache.remove(entry.response, url: query.key)
        var request = request
        request.hop = request.hop.sentAgain()
        return try await fetch(request, query, nil, .forward(.stale))
      }
      return try await confirmed(entry, by: response, request, query, status, requestTime)
    }
    if Self.errorStatuses.contains(code), let stale = replacement(for: code, entry, request, query, status) {
      try await response.drain()
      return stale
    }
    count(\.misses, query)
    return stored(response, code, request, query, replacing: entry, status, requestTime)
  }

  /// Sends a request that cannot be served from the cache, and performs the invalidations that it requires.
  func uncached(_ request: TransportRequest, _ query: CacheQuery) async throws -> TransportResponse {
    let requestTime = cache.now()
    let response = try await wire.start(adding([], to: request, query))
    guard let code = response.head.statusCode else { return response }
    let fields = response.head.fields
    for url in Invalidation.urls(method: query.method, url: query.url, status: code, fields: fields) {
      cache.invalidate(url)
    }
    // Its own response is newer than what it has invalidated.
    var query = query
    query.epoch = cache.epoch(of: query.key)
    let isKeptOut = query.mode == .noStore
    return stored(
      response, code, request, query, replacing: nil, CacheStatus(forward: isKeptOut ? .bypass : .method), requestTime)
  }

  func revalidateInBackground(_ request: TransportRequest, _ query: CacheQuery) {
    var request = request
    request.onSend = nil
    request.onReceive = nil
    request.onInterim = nil
    request.wantsTimings = false
    request.collectsBody = true
    request.deadline = wire.resourceTimeout.map { .now + $0 }
    // One revalidation at a time, however many requests find the response stale.
    let key = FlightKey(request, query, wire).text
    guard cache.revalidations.begin(key) else { return }
    var query = query
    query.isInBackground = true
    Task.detached(priority: .utility) { [request, query] in
      defer { cache.revalidations.end(key) }
      // On failure the stored response stays as it is, and the next request tries again.
      try? await revalidate(request, query)
    }
  }

  /// Counts a request of a caller, which is counted once: a response that is revalidated in the background was a hit.
  private func count(_ member: WritableKeyPath<HTTPCache.Statistics, Int>, _ query: CacheQuery) {
    if !query.isInBackground { cache.count(member) }
  }

  private func revalidate(_ request: TransportRequest, _ query: CacheQuery) async throws {
    // A previous revalidation may have ended after the request's lookup.
    guard let entry = cache.find(query).entry, entry.response.freshness.remaining(at: cache.now()) <= 0 else { return }
    var plan: CachePlan = entry.response.validators.exist ? .validate(.stale) : .forward(.stale)
    var (request, query) = (request, query)
    while true {
      let response = try await fetch(request, query, entry, plan)
      // Challenges are otherwise handled above the cache, which has already responded to this request.
      if let hop = try request.hop.respondingBelowMiddleware(to: response.head, by: wire) {
        try await response.drain()
        request.hop = hop
        let epoch = query.epoch
        query = CacheQuery(request, salt: cache.salt)
        (query.epoch, query.isInBackground) = (epoch, true)
        // The conditions are about a response to the same user: with new cookies it may be another one.
        if !query.selects(entry.response) { plan = .forward(.stale) }
        continue
      }
      while let body = response.body as? StoringBody, body.isStoring, try await body.next() != nil {}
      // A body that is not stored has no reader, and may have no end.
      try await response.drain()
      return
    }
  }

  /// Returns the request as it is sent: with conditions, and with the fields that its mode requires for intermediate
  /// caches (Fetch).
  @inline(never)
  private func adding(
    _ conditions: [(name: String, value: String)], to request: TransportRequest, _ query: CacheQuery
  ) -> TransportRequest {
    var fields = conditions
    func addDefault(_ name: String, _ value: String) {
      if !query.fields.contains(name.lowercased()) { fields.append((name, value)) }
    }
    switch query.mode {
    case .reload:
      addDefault("Cache-Control", "no-cache")
      addDefault("Pragma", "no-cache")
    case .noCache: addDefault("Cache-Control", "max-age=0")
    default: break
    }
    var request = request
    request.hop = request.hop.sending(fields)
    return request
  }

  /// Returns a stored response that the server has confirmed (RFC 9111 §4.3.4).
  private func confirmed(
    _ entry: CacheEntry, by response: TransportResponse, _ request: TransportRequest, _ query: CacheQuery,
    _ status: CacheStatus, _ requestTime: Date
  ) async throws -> TransportResponse {
    try await response.drain()
    let now = cache.now()
    let freshened = CacheEntry(
      response: entry.response.freshened(
        with: response.head.fields, for: query, requestTime: requestTime, responseTime: now), body: entry.body)
    if !freshened.response.mayBeKept {
      cache.discard(entry.response, url: query.key)
    } else if request.hop.isOfCurrentUser {
      cache.replace(entry.response, with: freshened, url: query.key, since: query.epoch)
    }
    count(\.validations, query)
    noteIfShareable(freshened.response, freshened.length, query)
    var status = status
    status.forwardStatus = 304
    let confirmed = self.response(of: freshened, request, query, status, now, confirmation: response.head.fields)
    guard let confirmed else { throw URLError(.badServerResponse) }
    return confirmed
  }

  /// Lets concurrent requests for a response share it from now on, if it is usable.
  @inline(never)
  private func noteIfShareable(_ response: StoredResponse, _ length: Int64, _ query: CacheQuery) {
    let isUsable = !response.directives.noCache && response.freshness.remaining(at: cache.now()) > 0
    if isUsable, length <= CacheFlights.greatestBody { cache.flights.note(query.key, isShared: true) }
  }

  /// Returns the stored response in place of an error, if that is allowed (RFC 5861 §4).
  @inline(never)
  private func replacement(
    for code: Int?, _ entry: CacheEntry?, _ request: TransportRequest, _ query: CacheQuery, _ status: CacheStatus
  ) -> TransportResponse? {
    let now = cache.now()
    guard let entry, query.range == nil || entry.range(of: query) != nil, query.mode == .default,
      entry.response.mayReplaceError(at: now, request: query.directives)
    else { return nil }
    var status = status
    status.forwardStatus = code
    status.detail = "stale-if-error"
    count(\.hits, query)
    return response(of: entry, request, query, status, now)
  }

  /// Returns the server's response, whose body is stored while it is read if that is allowed.
  @inline(never)
  private func stored(
    _ response: TransportResponse, _ code: Int, _ request: TransportRequest, _ query: CacheQuery,
    replacing old: CacheEntry?, _ status: CacheStatus, _ requestTime: Date
  ) -> TransportResponse {
    var response = response
    var status = status
    let fields = response.head.fields
    let now = cache.now()
    status.forwardStatus = code
    if request.hop.isOfCurrentUser, let stored = storable(response.head, fields, code, query, requestTime, now),
      let gatherer = cache.makeGatherer(expected: response.head.contentLength)
    {
      status.isStored = true
      noteIfShareable(stored, response.head.contentLength ?? 0, query)
      let (cache, key, epoch) = (cache, query.key, query.epoch)
      response.body = StoringBody(response.body, gatherer: gatherer) { body in
        guard let body else {
          // Even if it turns out to be too large, it is what the server has now.
          if let old { cache.discard(old.response, url: key) }
          return cache.remove(stored, url: key)
        }
        cache.store(stored, body, url: key, replacing: old?.response, since: epoch)
      }
    } else if query.isCacheable {
      if query.method == "HEAD" {
        if request.hop.isOfCurrentUser { applyHead(fields, code, query, old, requestTime, now) }
      } else if let old, code < 500, code != 206, code != 304, code != 401, code != 407, !query.isRangeRefused(code) {
        // The server's current response must not be stored: the stored one is obsolete.
        cache.discard(old.response, url: query.key)
      }
    }
    response.head = response.head.adding(CacheStatus.field, status.text, url: query.url)
    return response
  }

  @inline(never)
  private func storable(
    _ head: ResponseHead, _ fields: HeaderFieldList, _ code: Int, _ query: CacheQuery, _ requestTime: Date, _ now: Date
  ) -> StoredResponse? {
    guard query.mode != .noStore, !query.isRangeRefused(code), !isRedirected(head, query) else { return nil }
    let kept = StoredFields.kept(of: fields)
    let response = StoredResponse(
      status: code, reason: head.reasonPhrase, fields: kept, requestTime: requestTime, responseTime: now,
      varying: VaryingFields(response: kept, request: query.fields, salt: query.salt), identity: query.identity,
      receiver: query.receiver, isEncoded: !query.decodesContent)
    let mayBeStored = CacheableResponse.mayBeStored(
      method: query.method, url: query.url, request: query.directives, status: code, fields: kept,
      response: response.directives, freshness: response.freshness, mode: query.mode)
    return mayBeStored ? response : nil
  }

  /// Returns whether the response is that of another URL, because the session has followed a redirect itself: the
  /// freshness of the redirect is unknown.
  private func isRedirected(_ head: ResponseHead, _ query: CacheQuery) -> Bool {
    guard wire.resolvesRedirects, let url = head.urlResponse.url else { return false }
    return CacheLocation.key(of: url) != query.key
  }

  /// Updates the stored response to a GET from the response to a HEAD (RFC 9111 §4.3.5).
  @inline(never)
  private func applyHead(
    _ fields: HeaderFieldList, _ code: Int, _ query: CacheQuery, _ old: CacheEntry?, _ requestTime: Date, _ now: Date
  ) {
    guard let old, code == 200 else { return }
    guard old.response.status == 200, Freshening.headMatches(fields, old.response.fields) else {
      return cache.discard(old.response, url: query.key)
    }
    let response = old.response.freshened(with: fields, for: query, requestTime: requestTime, responseTime: now)
    guard response.mayBeKept else { return cache.discard(old.response, url: query.key) }
    cache.replace(
      old.response, with: CacheEntry(response: response, body: old.body), url: query.key, since: query.epoch)
  }
}

/// A body that is stored in the cache while it is read, if it is read to its end.
///
/// Unchecked: mutable state is accessed by `next()` only, which has one caller at a time.
final class StoringBody: WrappingBody, @unchecked Sendable {
  let body: any TransportBody
  private let finish: @Sendable (BodyGatherer.Content?) -> Void
  private var gatherer: BodyGatherer?

  /// - Parameter finish: Receives the complete body; `nil` if it turns out that it cannot be stored.
  init(_ body: any TransportBody, gatherer: BodyGatherer, finish: @escaping @Sendable (BodyGatherer.Content?) -> Void) {
    self.body = body
    self.gatherer = gatherer
    self.finish = finish
  }

  /// Whether the rest of the body can be stored. If not, it need not be read unless there is another reader.
  var isStoring: Bool { gatherer != nil }

  func next() async throws -> Data? {
    do {
      let chunk = try await body.next()
      guard let gatherer else { return chunk }
      if let chunk {
        if !gatherer.append(chunk) {
          self.gatherer = nil
          finish(nil)
        }
      } else {
        self.gatherer = nil
        finish(gatherer.finish())
      }
      return chunk
    } catch {
      gatherer = nil
      throw error
    }
  }
}
