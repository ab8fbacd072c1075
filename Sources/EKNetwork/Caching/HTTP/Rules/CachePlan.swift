import Foundation

/// The action for a request, given the response that is stored for it (RFC 9111 §4, and the cache modes of Fetch), if the
/// request may be sent: ``CacheQuery/mayBeSent``.
enum CachePlan: Sendable, Equatable {
  case use
  /// Return the stored response, and revalidate it in the background (RFC 5861 §3).
  case useAndRevalidate
  case validate(CacheStatus.Forward)
  case forward(CacheStatus.Forward)

  init(mode: CacheMode, request: CacheDirectives, stored: StoredResponse?, isVaryMiss: Bool = false, now: Date) {
    guard let stored else {
      self = .forward(isVaryMiss ? .varyMiss : .uriMiss)
      return
    }
    switch mode {
    case .noStore: self = .forward(.bypass)
    case .reload: self = .forward(.request)
    case .forceCache, .onlyIfCached: self = .use
    case .noCache:
      // RFC 8246 §2: an immutable response cannot have changed while it is fresh.
      let isFresh = stored.freshness.remaining(at: now) > 0
      let isCurrent = isFresh && stored.directives.isImmutable && !stored.directives.noCache
      self = isCurrent ? .use : Self.validating(stored, isFresh ? .request : .stale)
    case .default: self = Self.byRules(request, stored, now)
    }
  }

  /// The reason why the request is sent; `nil` if it is not.
  var forward: CacheStatus.Forward? {
    switch self {
    case .validate(let reason), .forward(let reason): reason
    case .use, .useAndRevalidate: nil
    }
  }

  private static func byRules(_ request: CacheDirectives, _ stored: StoredResponse, _ now: Date) -> CachePlan {
    let remaining = stored.freshness.remaining(at: now)
    let isFresh = remaining > 0
    let asRequested = validating(stored, isFresh ? .request : .stale)
    // §5.2.1.4 and §5.2.2.4
    if request.noCache { return asRequested }
    if stored.directives.noCache { return validating(stored, .stale) }
    // §5.2.1.1. An invalid number of seconds requires the newest response.
    if let maxAge = request.maxAge, stored.freshness.age(at: now) > Double(maxAge) { return asRequested }
    // §5.2.1.3
    if let minFresh = request.minFresh, remaining < Double(minFresh) { return asRequested }
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

/// How a cache obtained a response, for the `Cache-Status` field (RFC 9211 §2).
struct CacheStatus: Sendable, Equatable {
  /// §2.2: the reason why the request was forwarded.
  enum Forward: String, Sendable {
    /// The cache was configured not to handle the request.
    case bypass
    /// The method's semantics require it.
    case method
    /// Nothing is stored for the URL.
    case uriMiss = "uri-miss"
    /// Responses are stored for the URL, but this request selects none of them.
    case varyMiss = "vary-miss"
    /// A stored response could have been used, but the request asked for a newer one.
    case request
    /// The stored response was stale.
    case stale
  }

  static let field = "Cache-Status"
  static let name = "EKNetwork"

  var forward: Forward?
  /// The status code of the response that was received, if it is not the one that is returned.
  var forwardStatus: Int?
  var isStored = false
  /// §2.6: whether the request waited for the response to another one.
  var isCollapsed = false
  /// §2.4: the remaining freshness lifetime, in seconds; negative if the response is stale.
  var remaining: Double?
  /// §2.8, a token.
  var detail: String?

  var text: String {
    var text = Self.name + (forward.map { "; fwd=\($0.rawValue)" } ?? "; hit")
    if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
    if let remaining { text += "; ttl=\(Int64(min(max(remaining.rounded(.down), -2e9), 1e11)))" }
    if isStored { text += "; stored" }
    if isCollapsed { text += "; collapsed" }
    if let detail { text += "; detail=\(detail)" }
    return text
  }
}

/// The changes that a 304 or the response to a HEAD makes to a stored response (RFC 9111 §3.2, §4.3.4, §4.3.5).
enum Freshening {
  /// The fields about the stored body, which stays as it is (RFC 9111 §3.2).
  private static let kept: Set<String> = ["content-length", "content-encoding", "content-range", "content-md5"]

  /// The fields for the request that the update is sent to, which receives them, and for no later one: its cookies, and what
  /// the server says about its password (RFC 7616 §3.5).
  static let passedOn: Set<String> = ["set-cookie", "set-cookie2", "authentication-info"]

  /// The fields about the representation and how it may be stored, which are the same for every user.
  static let describing: Set<String> = [
    "age", "cache-control", "connection", "date", "etag", "expires", "last-modified", "vary",
  ]

  /// Returns whether a 304 applies to this response. One for another version cannot be used (§4.3.4).
  ///
  /// A strong tag need not have been strong in the stored response: a server that encodes a body makes its tag weak, but
  /// not that of a 304.
  static func applies(_ update: HeaderFieldList, to stored: HeaderFieldList) -> Bool {
    // Different values of a validator are those of another version, at least one of them.
    guard let tag = try? update.single("etag") ?? "", let date = try? update.single("last-modified") ?? "" else {
      return false
    }
    let (new, old) = (ResponseValidators(update), ResponseValidators(stored))
    if !tag.isEmpty, let new = new.opaqueTag, let old = old.opaqueTag { return new == old }
    // The stored response lacks a strong tag that the current version has.
    guard new.strongTag == nil else { return false }
    // Without any validator, it is about the response whose validators were sent.
    return date.isEmpty ? tag.isEmpty : isSameDate(date, old.lastModified)
  }

  private static func isSameDate(_ first: String, _ second: String?) -> Bool {
    guard let second, first != second else { return second != nil }
    let now = Date()
    guard let date = HTTPDate.parse(first, now: now) else { return false }
    return date == HTTPDate.parse(second, now: now)
  }

  /// Returns whether the response to a HEAD still describes the stored response (§4.3.5).
  static func headMatches(_ update: HeaderFieldList, _ stored: HeaderFieldList) -> Bool {
    let (new, old) = (ResponseValidators(update), ResponseValidators(stored))
    if let tag = new.entityTag, tag != old.entityTag { return false }
    if let date = new.lastModified, date != old.lastModified { return false }
    if let length = update.value("content-length"), length != stored.value("content-length") { return false }
    return true
  }

  static func updated(_ stored: HeaderFieldList, with update: HeaderFieldList, at now: Date) -> HeaderFieldList {
    var result = stored
    // The stored Age, and a Date that the update does not replace, describe the old response.
    result.remove("age")
    let update = StoredFields.kept(of: update)
    let names = Set(update.fields.map { $0.name.lowercased() }).subtracting(kept).subtracting(passedOn)
    result.remove { names.contains($0) }
    for field in update.fields where names.contains(field.name.lowercased()) { result.append(field.name, field.value) }
    if !names.contains("date") { result.set("Date", HTTPDate.text(now)) }
    return result
  }
}

/// The validators with which a stored response can be revalidated (RFC 9110 §8.8, §13).
struct ResponseValidators: Sendable, Equatable {
  /// The entity tag as received; a weak one includes its `W/`.
  let entityTag: String?
  let lastModified: String?

  init(_ fields: HeaderFieldList) {
    // Different values validate nothing.
    entityTag = try? fields.single("etag")
    lastModified = try? fields.single("last-modified")
  }

  var exist: Bool { entityTag != nil || lastModified != nil }

  /// §8.8.3: a strong tag identifies the exact bytes, a weak one equivalent content.
  var strongTag: String? { entityTag.flatMap { $0.hasPrefix("W/") ? nil : $0 } }

  /// RFC 9110 §8.8.3.2: the part that a weak comparison compares.
  var opaqueTag: Substring? { entityTag.map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...] } }

  /// RFC 9111 §4.3.1: both fields if there are both validators, as old servers only support dates.
  var conditionalFields: [(name: String, value: String)] {
    [("If-None-Match", entityTag), ("If-Modified-Since", lastModified)]
      .compactMap { name, value in value.map { (name, $0) } }
  }
}
