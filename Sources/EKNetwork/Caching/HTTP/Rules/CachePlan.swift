import Foundation

/// The action for a request, given the response that is stored for it (RFC 9111 §4, and the cache modes of Fetch).
enum CachePlan: Sendable, Equatable {
  /// Return the stored response.
  case use
  /// Return the stored response, and revalidate it in the background (RFC 5861 §3).
  case useAndRevalidate
  /// Validate the stored response with the server.
  case validate(CacheStatus.Forward)
  case forward(CacheStatus.Forward)
  /// Fail: nothing is stored, and the request may not be sent.
  case unavailable

  init(mode: CacheMode, request: CacheDirectives, stored: StoredResponse?, isVaryMiss: Bool = false, now: Date) {
    let forward = CacheStatus.Forward.self
    guard let stored else {
      let isUnavailable = mode == .onlyIfCached || (mode == .default && request.onlyIfCached)
      self = isUnavailable ? .unavailable : .forward(isVaryMiss ? forward.varyMiss : forward.uriMiss)
      return
    }
    switch mode {
    case .noStore: self = .forward(.bypass)
    case .reload: self = .forward(.request)
    case .forceCache, .onlyIfCached: self = .use
    case .noCache:
      // RFC 8246 §2: an immutable response cannot have changed while it is fresh.
      let isImmutable = stored.directives.isImmutable && !stored.directives.noCache
      let isFresh = stored.freshness.remaining(at: now) > 0
      self = isImmutable && isFresh ? .use : Self.validating(stored, isFresh ? .request : .stale)
    case .default: self = Self.byRules(request, stored, now)
    }
    if case .use = self { return }
    if mode == .default, request.onlyIfCached { self = .unavailable }
  }

  /// The reason why the request is sent; `nil` if it is not.
  var forward: CacheStatus.Forward? {
    switch self {
    case .validate(let reason), .forward(let reason): reason
    case .use, .useAndRevalidate, .unavailable: nil
    }
  }

  private static func byRules(_ request: CacheDirectives, _ stored: StoredResponse, _ now: Date) -> CachePlan {
    let remaining = stored.freshness.remaining(at: now)
    let isFresh = remaining > 0
    // §5.2.1.4 and §5.2.2.4
    if request.noCache { return validating(stored, isFresh ? .request : .stale) }
    if stored.directives.noCache { return validating(stored, .stale) }
    // §5.2.1.1. An invalid number of seconds requires the newest response.
    if let maxAge = request.maxAge, stored.freshness.age(at: now) > Double(maxAge.orStale) {
      return validating(stored, isFresh ? .request : .stale)
    }
    // §5.2.1.3
    if let minFresh = request.minFresh, remaining < Double(minFresh) {
      return validating(stored, isFresh ? .request : .stale)
    }
    if isFresh { return .use }
    // §5.2.2.2: must never be used stale.
    guard !stored.directives.mustRevalidate else { return validating(stored, .stale) }
    // §5.2.1.2
    if let maxStale = request.maxStale, maxStale == DeltaSeconds.greatest || -remaining <= Double(maxStale) {
      return .use
    }
    if let window = stored.directives.staleWhileRevalidate, request.maxAge == nil, request.minFresh == nil,
      -remaining <= Double(window)
    {
      // §5.2.1.7: no request is sent if the caller does not allow it.
      return request.onlyIfCached ? .use : .useAndRevalidate
    }
    return validating(stored, .stale)
  }

  private static func validating(_ stored: StoredResponse, _ reason: CacheStatus.Forward) -> CachePlan {
    stored.validators.exist ? .validate(reason) : .forward(reason)
  }
}
