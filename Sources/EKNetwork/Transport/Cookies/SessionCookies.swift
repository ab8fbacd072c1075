import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cookies of a session, for the transports that manage them themselves (RFC 6265bis).
///
/// FoundationNetworking's storage is only used to store them: on its own it returns cookies regardless of their path,
/// their `Secure` attribute and their age.
struct SessionCookies: Sendable {
  private let jar: CookieJar?
  private let policy: HTTPCookie.AcceptPolicy
  private let appliesCookies: Bool
  private let rules: CookieRules

  init(configuration: URLSessionConfiguration, suffixes: PublicSuffixes = .system) {
    jar = configuration.httpCookieStorage.map(CookieJar.of)
    policy = configuration.httpCookieAcceptPolicy
    appliesCookies = configuration.httpShouldSetCookies
    rules = CookieRules(suffixes: suffixes)
  }

  /// Creates the cookies of a storage, all of which are sent and stored; with `nil` there are none.
  init(storage: HTTPCookieStorage?) {
    jar = storage.map(CookieJar.of)
    policy = .always
    appliesCookies = true
    rules = CookieRules(suffixes: .system)
  }

  /// Adds the `Cookie` field, unless the request already has one or has cookies disabled. Returns whether it added the
  /// field.
  ///
  /// - Parameter start: The URL that the request began with, if a redirect has led to this one.
  @discardableResult
  func apply(to request: inout URLRequest, start: URL? = nil) -> Bool {
    // Before anything is asked of the request: most programs have no cookies.
    guard appliesCookies, let jar, jar.mayHaveCookies else { return false }
    guard request.httpShouldHandleCookies, request.value(forHTTPHeaderField: "Cookie") == nil,
      let url = request.url?.cookieURL
    else { return false }
    let stored = jar.cookies(for: url)
    guard !stored.isEmpty else { return false }
    let cookies = rules.sent(stored, to: url, method: request.httpMethod ?? "GET", start: start?.cookieURL)
    guard !cookies.isEmpty else { return false }
    request.setValue(cookies.map(\.pair).joined(separator: "; "), forHTTPHeaderField: "Cookie")
    return true
  }

  /// Stores the cookies of a response to `request`, which came from `url`. One line is one `Set-Cookie` field.
  func store(setCookieLines lines: [String], for url: URL, request: URLRequest? = nil) {
    store(setCookieLines: lines.map { Array($0.utf8) }, for: url, request: request)
  }

  /// Stores the cookies of a response to `request`, which came from `url`. One line is the bytes of one `Set-Cookie`
  /// field.
  func store(setCookieLines lines: [[UInt8]], for url: URL, request: URLRequest? = nil) {
    guard !lines.isEmpty, let jar, request?.httpShouldHandleCookies ?? true else { return }
    guard let url = url.cookieURL, let host = url.host?.lowercased(), !host.isEmpty else { return }
    guard jar.accepts(policy, host: host, main: request?.mainDocumentURL?.host?.lowercased()) else { return }
    // The cookies of one response are ordered: each is a microsecond later than the one before.
    var created = Date().timeIntervalSinceReferenceDate
    let cookies = lines.prefix(CookieJarState.mostOfADomain).compactMap { line -> StoredCookie? in
      created += 1e-6
      return SetCookieLine(bytes: line).flatMap { rules.cookie($0, from: url, host: host, created: created) }
    }
    guard !cookies.isEmpty else { return }
    jar.store(cookies, isSecureOrigin: url.scheme?.lowercased() == "https")
  }
}

extension URL {
  /// The URL whose cookies apply: a WebSocket handshake uses those of the corresponding `http` or `https` URL (RFC 6455
  /// §4.1).
  fileprivate var cookieURL: URL? {
    let scheme = scheme?.lowercased()
    guard scheme == "ws" || scheme == "wss" else { return self }
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.scheme = scheme == "ws" ? "http" : "https"
    return parts?.url
  }
}
