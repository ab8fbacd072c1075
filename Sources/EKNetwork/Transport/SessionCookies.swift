import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cookies of a session, for the transports that look after them themselves (RFC 6265).
///
/// FoundationNetworking's storage is only a shelf here: by itself it hands out cookies whatever their path, their
/// `Secure` attribute and their age.
struct SessionCookies: Sendable {
  private let storage: HTTPCookieStorage?
  private let policy: HTTPCookie.AcceptPolicy
  private let appliesCookies: Bool

  init(configuration: URLSessionConfiguration) {
    storage = configuration.httpCookieStorage
    policy = configuration.httpCookieAcceptPolicy
    appliesCookies = configuration.httpShouldSetCookies
  }

  /// Adds the `Cookie` field, unless the request has one of its own or does not want any.
  func apply(to request: inout URLRequest) {
    guard appliesCookies, request.httpShouldHandleCookies, let url = request.url, let storage else { return }
    guard request.value(forHTTPHeaderField: "Cookie") == nil else { return }
    let now = Date()
    let cookies = (storage.cookies(for: url) ?? []).filter { $0.isSent(to: url, now: now) }
    guard !cookies.isEmpty else { return }
    // RFC 6265 §5.4: longer paths first; the name makes the order the same each time.
    let sorted = cookies.sorted { ($1.path.utf8.count, $0.name) < ($0.path.utf8.count, $1.name) }
    let pairs = sorted.map { "\($0.name)=\($0.value)" }
    request.setValue(pairs.joined(separator: "; "), forHTTPHeaderField: "Cookie")
  }

  /// Keeps the cookies of a response to `request`, which came from `url`. One line is one `Set-Cookie` field.
  func store(setCookieLines lines: [String], for url: URL, request: URLRequest? = nil) {
    guard let storage, policy != .never, request?.httpShouldHandleCookies ?? true else { return }
    guard let host = url.host?.lowercased(), !host.isEmpty else { return }
    if policy == .onlyFromMainDocumentDomain, let main = request?.mainDocumentURL?.host?.lowercased() {
      guard main == host || main.hasSuffix("." + host) || host.hasSuffix("." + main) else { return }
    }
    let cookies = lines.compactMap { SetCookieLine($0) }.compactMap { $0.cookie(for: url, host: host) }
    guard !cookies.isEmpty else { return }
    storage.setCookies(cookies, for: url, mainDocumentURL: request?.mainDocumentURL)
  }
}

extension SetCookieLine {
  /// The cookie, unless it is meant for a host that `host` has no say in (RFC 6265 §5.3).
  fileprivate func cookie(for url: URL, host: String) -> HTTPCookie? {
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value, .originURL: url, .path: path ?? url.cookieDefaultPath,
    ]
    if let domain, domain != host {
      // An address has no subdomains, a domain of one label has too many.
      guard host.hasSuffix("." + domain), domain.contains("."), !host.isIPAddress else { return nil }
      properties[.domain] = "." + domain
    } else if domain != nil, !host.isIPAddress {
      properties[.domain] = "." + host
    } else {
      properties[.domain] = host
    }
    if isSecure { properties[.secure] = "TRUE" }
    if isHTTPOnly { properties[.init(rawValue: "HttpOnly")] = "TRUE" }
    if let maxAge {
      properties[.expires] = maxAge > 0 ? Date(timeIntervalSinceNow: TimeInterval(maxAge)) : Date.distantPast
    } else if let expires {
      properties[.expires] = expires
    }
    return HTTPCookie(properties: properties)
  }
}

extension HTTPCookie {
  /// RFC 6265 §5.4: the storage has matched the domain; path, `Secure` and age are left.
  fileprivate func isSent(to url: URL, now: Date) -> Bool {
    if isSecure, url.scheme?.lowercased() != "https" { return false }
    if let expiresDate, expiresDate <= now { return false }
    let requested = url.cookiePath
    guard requested != path else { return true }
    guard requested.hasPrefix(path) else { return false }
    return path.hasSuffix("/") || requested.dropFirst(path.count).hasPrefix("/")
  }
}

extension URL {
  fileprivate var cookiePath: String {
    let path = path(percentEncoded: true)
    return path.isEmpty ? "/" : path
  }

  /// RFC 6265 §5.1.4: up to the last slash.
  fileprivate var cookieDefaultPath: String {
    let path = cookiePath
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}

extension String {
  fileprivate var isIPAddress: Bool {
    contains(":") || split(separator: ".", omittingEmptySubsequences: false).allSatisfy { UInt8($0) != nil }
  }
}
