import Foundation

/// The rules for storing and sending cookies (RFC 6265bis §5.7 and §5.8), as far as they concern one cookie.
/// ``CookieJarState`` has those that concern several.
struct CookieRules: Sendable {
  /// §5.5: a cookie is kept for 400 days at most.
  static let longestLife: TimeInterval = 400 * 86_400

  let suffixes: PublicSuffixes

  /// Returns the cookie that a line sets, or `nil` if it must not be stored, whatever else is. A cookie that is to be
  /// removed has expired.
  ///
  /// - Parameters:
  ///   - url: The URL from which the line was received.
  ///   - created: When the line was received, in seconds since 2001; it increases from line to line.
  func cookie(_ line: SetCookieLine, from url: URL, host: String, created: Double) -> StoredCookie? {
    guard let domain = domain(line, host: host) else { return nil }
    let path = line.path ?? url.cookieDefaultPath
    // §5.7, step 12.
    if line.isSecure, url.scheme?.lowercased() != "https" { return nil }
    guard Self.satisfiesNamePrefix(of: line, isHostOnly: !domain.hasPrefix("."), path: path) else { return nil }
    let now = Date(timeIntervalSinceReferenceDate: created)
    var expires = line.expires.map { min($0, now + Self.longestLife) }
    if let maxAge = line.maxAge {
      expires = maxAge > 0 ? now + min(TimeInterval(maxAge), Self.longestLife) : Date.distantPast
    }
    return StoredCookie(
      name: line.name, value: line.value, domain: domain, path: path, expires: expires, created: created,
      isSecure: line.isSecure, isHTTPOnly: line.isHTTPOnly, sameSite: line.sameSite, isUTF8: line.isUTF8)
  }

  /// Returns the cookie's domain, with a leading dot if it includes subdomains, or `nil` if the host must not set
  /// cookies for it (§5.7, steps 8 to 10).
  private func domain(_ line: SetCookieLine, host: String) -> String? {
    guard let domain = line.domain else { return host }
    // An address has no subdomains. Without a list, a cookie is only sent to the host that set it: parent domains may
    // belong to others.
    let isAddress = HostSyntax.isAddress(host)
    if domain == host { return isAddress || suffixes.contains(domain) ?? true ? host : "." + domain }
    guard host.hasSuffix("." + domain), domain.contains("."), !isAddress else { return nil }
    return switch suffixes.contains(domain) {
    case true?: nil
    case false?: "." + domain
    case nil: host
    }
  }

  /// Checks the name prefixes, which guarantee properties that the server cannot see otherwise (§5.7, steps 20 and 21).
  private static func satisfiesNamePrefix(of line: SetCookieLine, isHostOnly: Bool, path: String) -> Bool {
    let name = line.name.lowercased()
    if name.hasPrefix("__secure-") { return line.isSecure }
    if name.hasPrefix("__http-") { return line.isSecure && line.isHTTPOnly }
    guard name.hasPrefix("__host-") else { return true }
    guard line.isSecure, isHostOnly, line.domain == nil, line.path == "/" else { return false }
    return line.isHTTPOnly || !name.hasPrefix("__host-http-")
  }

  /// Returns the cookies to send with a request, in order (§5.8.3): longer paths first, then those that were set first.
  ///
  /// - Parameters:
  ///   - cookies: The cookies whose domain matches.
  ///   - start: The URL that the request began with, if a redirect has led to `url`.
  func sent(_ cookies: [StoredCookie], to url: URL, method: String, start: URL?) -> [StoredCookie] {
    let now = Date()
    let isSecure = url.scheme?.lowercased() == "https"
    let requested = url.cookiePath
    var isElsewhere: Bool?
    var chosen: [StoredCookie] = []
    for cookie in cookies {
      if cookie.hasExpired(by: now) || cookie.isSecure && !isSecure { continue }
      guard requested.isCookiePath(within: cookie.path) else { continue }
      if let sameSite = cookie.sameSite, sameSite != .none, let start {
        let crosses = isElsewhere ?? !suffixes.areSameSite(start, url)
        isElsewhere = crosses
        if crosses, sameSite == .strict || !HTTPMethod.isSafe(method) { continue }
      }
      chosen.append(cookie)
    }
    chosen.sort {
      let lengths = ($0.path.utf8.count, $1.path.utf8.count)
      if lengths.0 != lengths.1 { return lengths.0 > lengths.1 }
      return ($0.created, $0.name) < ($1.created, $1.name)
    }
    return chosen
  }
}

extension String {
  /// Whether a request's path matches a cookie's path (§5.1.4).
  func isCookiePath(within path: String) -> Bool {
    guard self != path else { return true }
    guard hasPrefix(path) else { return false }
    return path.hasSuffix("/") || dropFirst(path.count).hasPrefix("/")
  }
}

extension URL {
  fileprivate var cookiePath: String {
    let path = path(percentEncoded: true)
    return path.isEmpty ? "/" : path
  }

  /// The path up to its last slash (§5.1.4).
  fileprivate var cookieDefaultPath: String {
    let path = cookiePath
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}

#if os(Linux)
  import CCurl
#endif

/// The names below which anyone may register a name, such as `co.uk` and `github.io`, so that no host may set a cookie
/// for all of them (RFC 6265 §5.3, step 5).
struct PublicSuffixes: Sendable {
  /// Returns whether a name is a public suffix, or `nil` if that is unknown.
  let contains: @Sendable (_ domain: String) -> Bool?
  /// Returns the registrable domain of a host, or `nil` if there is none or it is unknown.
  let registrableDomain: @Sendable (_ host: String) -> String?

  /// The suffixes without a list, none of which is known.
  static let unknown = PublicSuffixes(contains: { _ in nil }, registrableDomain: { _ in nil })

  #if os(Linux)
    /// The list of libpsl, if it is installed.
    static let system: PublicSuffixes = {
      guard ekn_psl_available() else { return .unknown }
      return PublicSuffixes(
        contains: { ekn_psl_is_public_suffix($0) },
        registrableDomain: { host in
          host.withCString { name in ekn_psl_registrable_domain(name).map { String(cString: $0) } }
        })
    }()
  #else
    static let system = unknown
  #endif

  /// Returns whether two URLs are same-site: they have the same scheme and the same registrable domain (RFC 6265bis
  /// §5.2) or, if that is not known, the same host.
  func areSameSite(_ first: URL, _ second: URL) -> Bool {
    guard first.scheme?.lowercased() == second.scheme?.lowercased(), let one = first.host?.lowercased(),
      let other = second.host?.lowercased()
    else { return false }
    if one == other { return true }
    guard !HostSyntax.isAddress(one), !HostSyntax.isAddress(other), let domain = registrableDomain(one) else {
      return false
    }
    return domain == registrableDomain(other)
  }
}
