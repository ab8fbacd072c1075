import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request as the cache reads it.
struct CacheQuery: Sendable {
  let method: String
  let url: URL
  /// What everything that is stored for the URL is stored under.
  let key: String
  let fields: CacheFields
  let directives: CacheDirectives
  let mode: CacheMode
  let identity: CacheIdentity
  let locations: [CacheLocation]
  let decodesContent: Bool
  /// ``HTTPCache/epoch(of:)`` when the request came.
  var epoch = 0

  /// Fetch, "HTTP-network-or-cache fetch": with a condition of its own, a request is about its sender's copy.
  private static let conditions = [
    "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
  ]

  /// `nil` when there is nothing that a cache could look for.
  init?(_ transportRequest: TransportRequest) {
    let request = transportRequest.urlRequest
    let mode = transportRequest.cacheMode
    decodesContent = transportRequest.decodesContent
    guard let url = request.url else { return nil }
    method = request.httpMethod ?? "GET"
    self.url = url
    fields = CacheFields(transportRequest.hop.sentFields)
    var directives = CacheDirectives(fields.value("cache-control"))
    // RFC 9111 §5.4: what was said before there was Cache-Control.
    if !fields.contains("cache-control"), let pragma = fields.value("pragma"),
      FieldList.members(pragma).contains(where: { $0.lowercased() == "no-cache" })
    {
      directives.noCache = true
    }
    self.directives = directives
    let fields = fields
    let isConditional = Self.conditions.contains { fields.contains($0) }
    let isKeptOut = directives.noStore || (mode == .default && isConditional)
    self.mode = isKeptOut ? .noStore : mode
    identity = CacheIdentity(fields, session: transportRequest.hop.sessionIdentity)
    key = CacheLocation.key(of: url)
    locations = CacheLocation.candidates(url: key, identity: identity)
  }

  /// Whether the cache may have a response to it.
  var isCacheable: Bool { (method == "GET" || method == "HEAD") && mode != .noStore }

  /// RFC 9110 §14.2: of a GET alone.
  var range: String? { method == "GET" ? fields.value("range") : nil }

  /// Whether an error is about the range that was asked for, and says nothing about the whole (RFC 9110 §15.5.17).
  func isRangeRefused(_ status: Int) -> Bool { status == 416 || (status >= 400 && range != nil) }

  func selects(_ response: StoredResponse) -> Bool {
    // RFC 9111 §4.1 knows no such difference: it is one of what the caller gets.
    (!response.hasContentCoding || response.isEncoded != decodesContent)
      && response.identity.mayShare(with: identity, directives: response.directives) && response.varying.match(fields)
  }
}
