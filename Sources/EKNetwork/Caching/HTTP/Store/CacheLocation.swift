import Foundation

/// The location of responses in the cache: a URL, and the partition that belongs to one identity.
struct CacheLocation: Sendable, Hashable {
  let url: String
  let partition: String
  /// ``RequestIdentity/trust``, which is part of every partition.
  let trust: String?

  /// Returns the key of everything that is stored for a URL: the URL without fragment and default port, with scheme and
  /// host in lower case (RFC 3986 §6.2).
  static func key(of url: URL) -> String {
    let text = url.absoluteString
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return text }
    let (scheme, host) = (parts.scheme?.lowercased(), parts.host?.lowercased())
    let isDefaultPort = parts.port.map { $0 == Origin.defaultPort(isSecure: scheme == "https") } ?? false
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
  init(url: String, identity: RequestIdentity, directives: CacheDirectives) {
    self.init(
      url: url,
      partition: directives.isShareable ? Self.publicPartition(of: identity) : Self.partition(of: identity), identity)
  }

  private init(url: String, partition: String, _ identity: RequestIdentity) {
    self.url = url
    self.partition = partition
    trust = identity.trust
  }

  /// Returns the locations at which to look for a response, in order.
  static func candidates(url: String, identity: RequestIdentity) -> [CacheLocation] {
    var partitions = [partition(of: identity)]
    if !identity.isAnonymous, identity.credentials == nil { partitions.append(anonymousPartition(of: identity)) }
    partitions.append(publicPartition(of: identity))
    return partitions.map { CacheLocation(url: url, partition: $0, identity) }
  }

  private static func partition(of identity: RequestIdentity) -> String {
    identity.isAnonymous
      ? anonymousPartition(of: identity)
      : "\(identity.credentials ?? "-").\(identity.cookies ?? "-")" + trust(of: identity)
  }

  /// The partition of responses that all users may share, if they trust the same servers.
  private static func publicPartition(of identity: RequestIdentity) -> String { "*" + trust(of: identity) }
  private static func anonymousPartition(of identity: RequestIdentity) -> String { trust(of: identity) }

  private static func trust(of identity: RequestIdentity) -> String { identity.trust.map { "+" + $0 } ?? "" }
}
