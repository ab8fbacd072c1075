import Foundation

/// The identity of one version of a resource (RFC 9110 §8.8), as far as a later request can name it.
struct Representation: Codable, Equatable, Sendable {
  // The names in the file are those of earlier versions, which can still be resumed.
  private enum CodingKeys: String, CodingKey {
    case requestedURL = "resource"
    case respondingURL = "source"
    case requester = "asker"
    case trust
    case entityTag
    case lastModified
    case total
  }

  /// A digest of the URL, whose query may contain secrets that must not be written to a file.
  var requestedURL: String
  /// A digest of the URL that responded, to which redirects may have led; `nil` if it is unknown.
  var respondingURL: String?
  /// A digest of the requester and of the requested variant: ``RequestIdentity``.
  var requester: String?
  /// A digest of the authorities and keys that were trusted: ``RequestIdentity/trust``.
  var trust: String?
  /// A strong entity tag.
  var entityTag: String?
  /// A strong modification date, as the server wrote it.
  var lastModified: String?
  var total: Int64?

  /// The value of `If-Range`, which only accepts strong validators (RFC 9110 §13.1.5).
  var condition: String? { entityTag ?? lastModified }

  /// Creates the identity of a response's representation; `nil` if no later response can be appended to it.
  init?(_ head: DownloadHead, of requestedURL: String, for requester: String? = nil, trust: String? = nil) {
    guard head.status == 200, !head.isEncoded, head.acceptsRanges else { return nil }
    self.requestedURL = requestedURL
    respondingURL = head.respondingURL
    self.requester = requester
    self.trust = trust
    entityTag = head.strongEntityTag
    lastModified = head.strongLastModified
    total = head.contentLength
    if condition == nil { return nil }
  }

  /// Returns whether a response is about this version.
  func includes(_ head: DownloadHead) -> Bool {
    isSameResource(as: head) && hasValidator(of: head)
  }

  /// Returns whether a response comes from the resource that this is a version of. RFC 9110 §8.8.1: a validator is
  /// unique among the versions of one resource; those that a redirect leads to, at different times, may have the same.
  func isSameResource(as head: DownloadHead) -> Bool { head.respondingURL == respondingURL }

  private func hasValidator(of head: DownloadHead) -> Bool {
    // RFC 9110 §15.3.7: a partial response has the same validators as the whole response.
    if let entityTag { return head.strongEntityTag == entityTag }
    // A server need not repeat the date that `If-Range` has just matched.
    return head.lastModified == nil || head.lastModified == lastModified
  }
}
