import Foundation

/// The properties of a response head that a download needs.
struct DownloadHead: Equatable, Sendable {
  var status: Int
  /// A digest of the URL that responded: ``DownloadSource``.
  var respondingURL: String?
  var entityTag: String?
  var lastModified: String?
  var date: String?
  var contentRange: String?
  var contentLength: Int64?
  var isEncoded = false
  var acceptsRanges = true

  init(status: Int) { self.status = status }

  init(_ head: ResponseHead, status: Int) {
    self.status = status
    respondingURL = head.url.map(DownloadSource.digest)
    // Of a field with different values none counts: nothing is then appended to a file.
    entityTag = head.hint("etag")
    lastModified = head.hint("last-modified")
    date = head.hint("date")
    contentRange = head.hint("content-range")
    // RFC 9112 §6.3: a 204 has no body, whatever `Content-Length` it has.
    contentLength = status == 204 ? nil : head.contentLength
    isEncoded = !ContentCoding.names(head.value("content-encoding")).isEmpty
    acceptsRanges = head.value("accept-ranges")?.lowercased() != "none"
  }

  /// The entity tag, if it is strong. RFC 9110 §8.8.3: `W/` marks a tag that versions with different bytes may share.
  var strongEntityTag: String? {
    entityTag.flatMap { $0.hasPrefix("\"") && $0.hasSuffix("\"") && $0.utf8.count >= 2 ? $0 : nil }
  }

  /// The modification date, if it is strong. RFC 9110 §8.8.2.2: since it is in whole seconds, it must be earlier than
  /// the second of the response. A minute allows for clocks that differ.
  var strongLastModified: String? {
    guard let lastModified, let date, let modified = HTTPDate.parse(lastModified, now: Date()),
      let sent = HTTPDate.parse(date, now: Date())
    else { return nil }
    return sent.timeIntervalSince(modified) >= 60 ? lastModified : nil
  }
}
