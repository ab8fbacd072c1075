import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request as the cache interprets it.
struct CacheQuery: Sendable {
  let method: String
  let url: URL
  /// The key of everything that is stored for the URL.
  let key: String
  let fields: HeaderFieldList
  let directives: CacheDirectives
  let mode: CacheMode
  /// Whether the request's own mode is `onlyIfCached`.
  let isOnlyIfCached: Bool
  /// Whether the request may be sent: not with the mode `onlyIfCached` or the directive `only-if-cached`.
  let mayBeSent: Bool
  let identity: RequestIdentity
  /// The session that the request is sent over: ``SessionSettings/number``.
  let receiver: Int?
  /// A text that is part of the digests of secrets in this cache.
  let salt: String
  let locations: [CacheLocation]
  let decodesContent: Bool
  /// The value of ``HTTPCache/epoch(of:)`` when the request arrived.
  var epoch = 0

  /// Fetch, "HTTP-network-or-cache fetch": a request with a condition of its own is about its sender's copy.
  private static let conditions = [
    "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
  ]

  /// Returns `nil` for a request without a URL.
  init?(_ transportRequest: TransportRequest, salt: String = "") {
    let request = transportRequest.urlRequest
    let mode = transportRequest.cacheMode
    decodesContent = transportRequest.decodesContent
    guard let url = request.url else { return nil }
    method = request.httpMethod ?? "GET"
    self.url = url
    fields = HeaderFieldList(transportRequest.hop.sentFields)
    var directives = CacheDirectives(fields.value("cache-control"))
    // RFC 9111 §5.4: the predecessor of Cache-Control.
    if !fields.contains("cache-control"), let pragma = fields.value("pragma"),
      FieldList.members(pragma).contains(where: { $0.lowercased() == "no-cache" })
    {
      directives.noCache = true
    }
    self.directives = directives
    let fields = fields
    let isConditional = Self.conditions.contains { fields.contains($0) }
    // RFC 9110 §9.3.1: the body of a GET has no defined meaning, but servers that expect one respond according to it.
    let hasBody =
      ["GET", "HEAD"].contains(method) && (request.httpBody != nil || request.httpBodyStream != nil)
    let isKeptOut = directives.noStore || hasBody || (mode == .default && isConditional)
    self.mode = isKeptOut ? .noStore : mode
    isOnlyIfCached = mode == .onlyIfCached
    mayBeSent = !isOnlyIfCached && !(mode == .default && directives.onlyIfCached)
    self.salt = salt
    identity = RequestIdentity.of(transportRequest.hop, salt: salt)
    receiver = transportRequest.hop.sessionNumber
    key = CacheLocation.key(of: url)
    locations = CacheLocation.candidates(url: key, identity: identity)
  }

  /// Whether the cache may have a response to the request.
  var isCacheable: Bool { (method == "GET" || method == "HEAD") && mode != .noStore }

  /// RFC 9110 §14.2: defined for GET only.
  var range: String? { method == "GET" ? fields.value("range") : nil }

  /// Returns whether an error concerns the requested range, and says nothing about the whole (RFC 9110 §15.5.17).
  func isRangeRefused(_ status: Int) -> Bool { status == 416 || (status >= 400 && range != nil) }

  func selects(_ response: StoredResponse) -> Bool {
    // Not part of RFC 9111 §4.1: whether the caller receives decoded or encoded content.
    (!response.hasContentCoding || response.isEncoded != decodesContent)
      && response.mayBeUsed(for: identity) && response.varying.match(fields, salt: salt)
  }
}
