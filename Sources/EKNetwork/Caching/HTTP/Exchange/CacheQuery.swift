import Foundation

/// A request as the cache interprets it.
struct CacheQuery: Sendable {
  let method: String
  let url: URL
  let key: String
  let fields: HeaderFieldList
  let directives: CacheDirectives
  let mode: CacheMode
  /// Whether the request's own mode is `onlyIfCached`, whatever `mode` is.
  let isOnlyIfCached: Bool
  /// Whether the request may be sent: not with the mode `onlyIfCached` or the directive `only-if-cached`.
  let mayBeSent: Bool
  let identity: RequestIdentity
  /// The session that the request is sent over: ``SessionSettings/number``.
  let receiver: Int?
  let salt: String
  let locations: [CacheLocation]
  let decodesContent: Bool
  /// The value of ``HTTPCache/epoch(of:)`` when the request arrived.
  var epoch = 0
  /// Whether it revalidates a response that its caller already has.
  var isInBackground = false

  /// Fetch, "HTTP-network-or-cache fetch": a request with a condition of its own is about its sender's copy.
  private static let conditions = [
    "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
  ]

  init(_ transportRequest: TransportRequest, salt: String = "") {
    let request = transportRequest.sent
    let mode = transportRequest.cacheMode
    decodesContent = transportRequest.decodesContent
    method = request.method
    url = request.url
    fields = transportRequest.hop.sentFields
    var directives = CacheDirectives(fields.values("cache-control"))
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
    let hasBody = ["GET", "HEAD"].contains(method) && request.body != nil
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

extension CacheEntry {
  /// Returns the stored response as the response to a request (RFC 9111 §4), or the range of it that is requested.
  ///
  /// - Parameters:
  ///   - confirmation: The fields with which the server has just confirmed it; `nil` if it has not.
  func response(
    to query: CacheQuery, status cacheStatus: CacheStatus, at now: Date, confirmation: HeaderFieldList? = nil,
    onReceive: BodyObserver? = nil, remainder: DiskBodyReader.Remainder? = nil
  ) -> TransportResponse? {
    var fields = response.fields(for: query)
    // §5.2.2.4: fields that must not be used without revalidation.
    if confirmation == nil, !response.directives.noCacheFields.isEmpty {
      let unconfirmed = Set(response.directives.noCacheFields)
      fields.remove { unconfirmed.contains($0) }
    }
    // §5.1
    let age = response.freshness.age(at: now)
    fields.set("Age", "\(Int64(min(max(0, age), Double(DeltaSeconds.greatest))))")
    if let confirmation {
      let own = confirmation.filter { Freshening.passedOn.contains($0.name.lowercased()) }
      let names = Set(own.map { $0.name.lowercased() })
      fields.remove { names.contains($0) }
      for field in own { fields.append(field.name, field.value) }
    }
    var status = cacheStatus
    status.remaining = response.freshness.remaining(at: now)
    fields.append(CacheStatus.field, status.text)

    var code = response.status
    var content = 0..<length
    if let range = range(of: query) {
      code = 206
      content = range
      fields.set("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)")
      fields.set("Content-Length", "\(range.count)")
    }
    if query.method == "HEAD" { content = 0..<0 }
    let reason = code == response.status ? response.reason : "Partial Content"
    guard var head = ResponseHead.make(status: code, reason: reason, fields: fields, url: query.url) else {
      return nil
    }
    head.isStored = status.forwardStatus == nil
    head.isReceived = false
    if !content.isEmpty, let onReceive, onReceive.observes(head) {
      onReceive.report(Int64(content.count), Int64(content.count))
    }
    return TransportResponse(head: head, body: body.reader(content, remainder: remainder))
  }

  /// Returns the range that the request asks for, if this response can provide it (RFC 9110 §14.2), and is the one of which
  /// its sender has the rest (§13.1.5).
  func range(of query: CacheQuery) -> Range<Int64>? {
    guard let value = query.range, isRangeable else { return nil }
    if let condition = query.fields.value("if-range"), condition != response.validators.strongTag { return nil }
    return ByteRange(value)?.offsets(in: length)
  }

  /// Whether ranges can be served: they refer to the bytes as transferred, which for an encoded body are not those
  /// stored.
  private var isRangeable: Bool { response.status == 200 && !response.hasContentCoding }
}

/// A single byte range of a request (RFC 9110 §14.1.2).
enum ByteRange: Sendable, Equatable {
  /// `bytes=first-last`, or `bytes=first-`.
  case from(Int64, through: Int64?)
  /// `bytes=-count`: the last `count` bytes.
  case suffix(Int64)

  /// Returns `nil` for multiple ranges, other units and malformed values, which are left to the server.
  init?(_ value: String) {
    guard value.lowercased().hasPrefix("bytes=") else { return nil }
    let members = FieldList.members(String(value.dropFirst(6)))
    guard members.count == 1, let dash = members[0].firstIndex(of: "-") else { return nil }
    let (first, last) = (members[0][..<dash], members[0][dash...].dropFirst())
    func number(_ text: Substring) -> Int64? {
      guard !text.isEmpty, text.utf8.count < 19, text.utf8.allSatisfy(\.isDigit) else { return nil }
      return Int64(text)
    }
    switch (number(first), number(last)) {
    case (nil, let count?) where first.isEmpty: self = .suffix(count)
    case (let start?, nil) where last.isEmpty: self = .from(start, through: nil)
    case (let start?, let end?) where start <= end: self = .from(start, through: end)
    default: return nil
    }
  }

  /// Returns the offsets in a representation of the given length; `nil` if the range is not satisfiable (416).
  func offsets(in length: Int64) -> Range<Int64>? {
    switch self {
    case .from(let first, let last):
      guard first < length else { return nil }
      return first..<min(length, (last ?? length - 1) + 1)
    case .suffix(let count):
      guard count > 0, length > 0 else { return nil }
      return max(0, length - count)..<length
    }
  }
}
