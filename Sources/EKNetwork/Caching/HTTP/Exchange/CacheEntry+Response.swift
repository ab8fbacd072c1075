import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension CacheEntry {
  /// Returns the stored response as the response to a request (RFC 9111 §4), or the range of it that is requested.
  ///
  /// - Parameters:
  ///   - isValidated: Whether the server has just confirmed it.
  ///   - cookies: The cookies that the server has just set for this request alone.
  ///   - remainder: Fetches the rest of a body whose file turns out to be damaged.
  func response(
    to query: CacheQuery, status cacheStatus: CacheStatus, at now: Date, isValidated: Bool = false,
    cookies: [String] = [],
    onReceive: BodyObserver? = nil, remainder: DiskBodyReader.Remainder? = nil
  ) -> TransportResponse? {
    var fields = response.fields(for: query)
    // §5.2.2.4: fields that must not be used without revalidation.
    if !isValidated, !response.directives.noCacheFields.isEmpty {
      let unconfirmed = Set(response.directives.noCacheFields)
      fields.remove { unconfirmed.contains($0) }
    }
    // §5.1
    let age = response.freshness.age(at: now)
    fields.set("Age", "\(Int64(min(max(0, age), Double(DeltaSeconds.greatest))))")
    if !cookies.isEmpty { fields.remove("set-cookie") }
    for cookie in cookies { fields.append("Set-Cookie", cookie) }
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
    guard let head = ResponseHead.make(status: code, reason: reason, fields: fields, url: query.url) else {
      return nil
    }
    if !content.isEmpty, let onReceive, onReceive.observes(head) {
      onReceive.report(Int64(content.count), Int64(content.count))
    }
    return TransportResponse(head: head, body: body.reader(content, remainder: remainder))
  }

  /// Returns the range that the request asks for, if this response can provide it (RFC 9110 §14.2).
  func range(of query: CacheQuery) -> Range<Int64>? {
    guard let value = query.range, isRangeable else { return nil }
    return ByteRange(value)?.offsets(in: length)
  }

  /// Whether ranges can be served: they refer to the bytes as transferred, which for an encoded body are not those
  /// stored.
  private var isRangeable: Bool { response.status == 200 && !response.hasContentCoding }
}
