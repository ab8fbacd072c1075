import Foundation

/// What tells one version of a resource from another (RFC 9110 §8.8), as far as a later request can ask for it.
struct Representation: Codable, Equatable, Sendable {
  /// A digest of the URL: its query may hold what must not be found in a file.
  var resource: String
  /// A digest of who asked, and for which of several representations: ``RequestIdentity``.
  var asker: String?
  /// A strong entity tag.
  var entityTag: String?
  /// A strong modification date, as the server wrote it.
  var lastModified: String?
  var total: Int64?

  /// RFC 9110 §13.1.5: `If-Range` takes strong validators alone.
  var condition: String? { entityTag ?? lastModified }

  /// `nil` for a response that no later one could be joined to.
  init?(_ head: DownloadHead, of resource: String, for asker: String? = nil) {
    guard head.status == 200, !head.isEncoded, head.acceptsRanges else { return nil }
    self.resource = resource
    self.asker = asker
    entityTag = head.strongEntityTag
    lastModified = head.strongLastModified
    total = head.contentLength
    if condition == nil { return nil }
  }

  /// Whether a part that the server sent belongs to this version.
  func includes(_ head: DownloadHead) -> Bool {
    // RFC 9110 §15.3.7: a part has the validators that the whole would have had.
    if let entityTag { return head.strongEntityTag == entityTag }
    // A server need not repeat the date that `If-Range` has just compared.
    return head.lastModified == nil || head.lastModified == lastModified
  }
}
