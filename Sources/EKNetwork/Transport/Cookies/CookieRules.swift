import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The rules for storing and sending cookies (RFC 6265bis §5.7 and §5.8).
struct CookieRules: Sendable {
  /// §5.5: a cookie is kept for 400 days at most.
  static let longestLife: TimeInterval = 400 * 86_400
  /// §6.1 requires at least 50; browsers use these limits.
  static let mostOfADomain = 180
  static let mostOfAll = 3_000

  let suffixes: PublicSuffixes

  /// Returns the cookie that a line sets, or `nil` if it must not be stored.
  ///
  /// - Parameters:
  ///   - url: The URL from which the line was received.
  ///   - stored: The cookies that are already stored.
  ///   - created: When the line was received, in seconds since 2001; it increases from line to line.
  func cookie(
    _ line: SetCookieLine, from url: URL, host: String, stored: [HTTPCookie], created: Double
  ) -> HTTPCookie? {
    guard let domain = domain(line, host: host) else { return nil }
    let path = line.path ?? url.cookieDefaultPath
    let isSecureOrigin = url.scheme?.lowercased() == "https"
    // §5.7, steps 12 and 13: an attacker who can change unencrypted traffic cannot set cookies that are protected from
    // it.
    if !isSecureOrigin {
      if line.isSecure { return nil }
      guard !stored.contains(where: { Self.isOverlaid($0, by: line.name, domain: domain, path: path) }) else {
        return nil
      }
    }
    guard Self.satisfiesNamePrefix(of: line, isHostOnly: !domain.hasPrefix("."), path: path) else { return nil }
    let now = Date(timeIntervalSinceReferenceDate: created)
    let old = stored.first {
      $0.name == line.name && $0.domain.lowercased() == domain && $0.path == path && !$0.hasExpired(by: now)
    }
    let note = CookieNote(
      created: old.map { CookieNote(of: $0).created } ?? created, sameSite: line.sameSite,
      isSecure: line.isSecure)
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: line.name, .value: line.value, .originURL: url, .path: path, .domain: domain,
      CookieNote.key: note.text,
    ]
    if line.isSecure { properties[.secure] = "TRUE" }
    if line.isHTTPOnly { properties[.init(rawValue: "HttpOnly")] = "TRUE" }
    if let maxAge = line.maxAge {
      properties[.expires] = maxAge > 0 ? now + min(TimeInterval(maxAge), Self.longestLife) : Date.distantPast
    } else if let expires = line.expires {
      properties[.expires] = min(expires, now + Self.longestLife)
    }
    return HTTPCookie(properties: properties)
  }

  /// Returns the cookie's domain, with a leading dot if it includes subdomains, or `nil` if the host must not set
  /// cookies for it (§5.7, steps 8 to 10).
  private func domain(_ line: SetCookieLine, host: String) -> String? {
    guard let domain = line.domain else { return host }
    // An address has no subdomains. Without a list, a cookie is only sent to the host that set it: parent domains may
    // belong to others.
    if domain == host { return host.isIPAddress || suffixes.contains(domain) ?? true ? host : "." + domain }
    guard host.hasSuffix("." + domain), domain.contains("."), !host.isIPAddress else { return nil }
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

  /// Returns whether a new cookie would be sent in place of a secure one (§5.7, step 13), or stored in place of it:
  /// FoundationNetworking's storage identifies cookies by domain, path and name without separators.
  private static func isOverlaid(_ cookie: HTTPCookie, by name: String, domain: String, path: String) -> Bool {
    let isSent =
      cookie.name == name && cookie.domain.lowercased().droppingDot.isCookieDomain(relatedTo: domain.droppingDot)
      && path.isCookiePath(within: cookie.path)
    guard isSent || isStored(cookie, under: domain, path, name) else { return false }
    return CookieNote(of: cookie).isSecure && !cookie.hasExpired(by: Date())
  }

  private static func isStored(_ cookie: HTTPCookie, under key: String...) -> Bool {
    let own = [cookie.domain, cookie.path, cookie.name]
    // Most differ in length, and need not be joined.
    return own.reduce(0, { $0 + $1.utf8.count }) == key.reduce(0, { $0 + $1.utf8.count })
      && own.joined() == key.joined()
  }

  /// Returns the cookies to send with a request, in order (§5.8.3): longer paths first, then those that were set first.
  ///
  /// - Parameters:
  ///   - cookies: The cookies whose domain matches.
  ///   - start: The URL that the request began with, if a redirect has led to `url`.
  func sent(_ cookies: [HTTPCookie], to url: URL, method: String, start: URL?) -> [HTTPCookie] {
    let now = Date()
    let isSecure = url.scheme?.lowercased() == "https"
    let requested = url.cookiePath
    var isElsewhere: Bool?
    var chosen: [(cookie: HTTPCookie, note: CookieNote)] = []
    for cookie in cookies {
      if cookie.hasExpired(by: now) { continue }
      guard requested.isCookiePath(within: cookie.path) else { continue }
      let note = CookieNote(of: cookie)
      if note.isSecure, !isSecure { continue }
      if let sameSite = note.sameSite, sameSite != .none, let start {
        let crosses = isElsewhere ?? !suffixes.areSameSite(start, url)
        isElsewhere = crosses
        if crosses, sameSite == .strict || !Self.safeMethods.contains(method) { continue }
      }
      chosen.append((cookie, note))
    }
    chosen.sort {
      let lengths = ($0.cookie.path.utf8.count, $1.cookie.path.utf8.count)
      if lengths.0 != lengths.1 { return lengths.0 > lengths.1 }
      return ($0.note.created, $0.cookie.name) < ($1.note.created, $1.cookie.name)
    }
    return chosen.map(\.cookie)
  }

  /// RFC 9110 §9.2.1.
  private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE"]

  /// Returns the cookies to evict (§5.7, at its end): those that have expired, then from domains with too many, then
  /// from all.
  func excess(_ cookies: [HTTPCookie]) -> [HTTPCookie] {
    guard cookies.count > Self.mostOfADomain else { return [] }
    let now = Date()
    var gone: [HTTPCookie] = []
    var kept: [HTTPCookie] = []
    for cookie in cookies {
      if cookie.hasExpired(by: now) { gone.append(cookie) } else { kept.append(cookie) }
    }
    // Those that are not secure are evicted first, then the oldest.
    let notes = kept.map { (cookie: $0, note: CookieNote(of: $0)) }
    let ordered = notes.sorted {
      ($0.note.isSecure ? 1 : 0, $0.note.created) < ($1.note.isSecure ? 1 : 0, $1.note.created)
    }.map(\.cookie)
    var counts: [String: Int] = [:]
    for cookie in ordered { counts[cookie.domain.lowercased().droppingDot, default: 0] += 1 }
    var total = ordered.count
    for cookie in ordered {
      let domain = cookie.domain.lowercased().droppingDot
      guard let count = counts[domain], count > Self.mostOfADomain || total > Self.mostOfAll else { continue }
      counts[domain] = count - 1
      total -= 1
      gone.append(cookie)
    }
    return gone
  }
}

extension HTTPCookie {
  fileprivate func hasExpired(by now: Date) -> Bool { expiresDate.map { $0 <= now } ?? false }
}

extension String {
  fileprivate var droppingDot: String { hasPrefix(".") ? String(dropFirst()) : self }

  /// Whether one of two domains includes the other.
  fileprivate func isCookieDomain(relatedTo other: String) -> Bool {
    self == other || hasSuffix("." + other) || other.hasSuffix("." + self)
  }

  /// Whether a request's path matches a cookie's path (§5.1.4).
  fileprivate func isCookiePath(within path: String) -> Bool {
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
