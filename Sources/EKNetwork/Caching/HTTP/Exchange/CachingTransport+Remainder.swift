import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension CachingTransport {
  /// Returns a source for the rest of a stored body whose file turns out to be damaged: the server, if it may be
  /// contacted and still has the same bytes (RFC 9110 §13.1.5). Returns `nil` if that cannot be determined.
  func remainder(
    of entry: CacheEntry, for request: TransportRequest, _ query: CacheQuery
  ) -> DiskBodyReader.Remainder? {
    guard case .file = entry.body, query.mode != .onlyIfCached, !query.directives.onlyIfCached,
      entry.response.status == 200, !entry.response.hasContentCoding, let tag = entry.response.validators.strongTag
    else { return nil }
    return { range in
      var request = request
      request.onReceive = nil
      let last = range.upperBound - 1
      request.hop = request.hop.sending([("Range", "bytes=\(range.lowerBound)-\(last)"), ("If-Range", tag)])
      let response = try await wire.start(request)
      let part = response.head.fields.value("content-range").flatMap { ContentRange($0) }
      guard response.head.statusCode == 206, part?.range == range.lowerBound...last, part?.total == entry.length else {
        response.body.cancel()
        throw URLError(
          .networkConnectionLost,
          userInfo: [
            NSLocalizedDescriptionKey: "The stored body of the response is damaged, and the server has another"
          ])
      }
      return response.body
    }
  }
}
