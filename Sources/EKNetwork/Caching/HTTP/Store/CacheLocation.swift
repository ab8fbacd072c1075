import Foundation

/// The location of responses in the cache: a URL, and the partition that belongs to one identity.
struct CacheLocation: Sendable, Hashable {
  let url: String
  let partition: String

  /// The partition of responses that all users may share.
  static let publicPartition = "*"
  static let anonymousPartition = ""

  /// Returns the key of everything that is stored for a URL: the URL without fragment and default port, with scheme and
  /// host in lower case (RFC 3986 §6.2).
  static func key(of url: URL) -> String {
    let text = url.absoluteString
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return text }
    let (scheme, host) = (parts.scheme?.lowercased(), parts.host?.lowercased())
    let isDefaultPort = parts.port.map { $0 == (scheme == "https" ? 443 : 80) } ?? false
    if parts.scheme == scheme, parts.host == host, parts.fragment == nil, !isDefaultPort,
      !parts.percentEncodedPath.isEmpty
    {
      return text
    }
    parts.fragment = nil
    parts.scheme = scheme
    if parts.host != host { parts.host = host }
    if isDefaultPort { parts.port = nil }
    if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
    return parts.string ?? text
  }

  /// The location at which a response is stored.
  init(url: String, identity: CacheIdentity, directives: CacheDirectives) {
    self.url = url
    partition = directives.isShareable ? Self.publicPartition : Self.partition(of: identity)
  }

  init(url: String, partition: String) {
    self.url = url
    self.partition = partition
  }

  /// Returns the locations at which to look for a response, in order.
  static func candidates(url: String, identity: CacheIdentity) -> [CacheLocation] {
    var partitions = [partition(of: identity)]
    if !identity.isAnonymous, identity.credentials == nil { partitions.append(anonymousPartition) }
    partitions.append(publicPartition)
    return partitions.map { CacheLocation(url: url, partition: $0) }
  }

  private static func partition(of identity: CacheIdentity) -> String {
    identity.isAnonymous
      ? anonymousPartition : "\(identity.credentials ?? "-").\(identity.cookies ?? "-")"
  }
}
