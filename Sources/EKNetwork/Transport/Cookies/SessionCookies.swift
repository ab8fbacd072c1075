import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cookies of a session, for the transports that manage them themselves (RFC 6265bis).
///
/// FoundationNetworking's storage is only used to store them: on its own it returns cookies regardless of their path,
/// their `Secure` attribute and their age.
struct SessionCookies: Sendable {
  /// The queue on which storages write.
  static let files = BlockingQueue(label: "EKNetwork.Cookies")

  private let storage: HTTPCookieStorage?
  private let policy: HTTPCookie.AcceptPolicy
  private let appliesCookies: Bool
  private let rules: CookieRules

  init(configuration: URLSessionConfiguration, suffixes: PublicSuffixes = .system) {
    storage = configuration.httpCookieStorage
    policy = configuration.httpCookieAcceptPolicy
    appliesCookies = configuration.httpShouldSetCookies
    rules = CookieRules(suffixes: suffixes)
  }

  /// Creates the cookies of a storage, all of which are sent and stored; with `nil` there are none.
  init(storage: HTTPCookieStorage?) {
    self.storage = storage
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
    guard appliesCookies, request.httpShouldHandleCookies, let url = request.url?.cookieURL, let storage else {
      return false
    }
    guard request.value(forHTTPHeaderField: "Cookie") == nil else { return false }
    let stored = storage.cookies(for: url) ?? []
    guard !stored.isEmpty else { return false }
    let cookies = rules.sent(stored, to: url, method: request.httpMethod ?? "GET", start: start?.cookieURL)
    guard !cookies.isEmpty else { return false }
    let pairs = cookies.map { "\($0.name)=\($0.value)" }
    request.setValue(pairs.joined(separator: "; "), forHTTPHeaderField: "Cookie")
    return true
  }

  /// Stores the cookies of a response, as ``store(setCookieLines:for:request:)`` does, outside the cooperative thread
  /// pool: the storage of the process writes a file for each of them.
  ///
  /// - Throws: `CancellationError` at once when the task is cancelled; the cookies are stored nevertheless.
  func keep(setCookieLines lines: [String], for url: URL, request: URLRequest? = nil) async throws {
    guard !lines.isEmpty else { return }
    try await Self.files.runToEnd { store(setCookieLines: lines, for: url, request: request) }
  }

  /// Stores the cookies of a response to `request`, which came from `url`. One line is one `Set-Cookie` field.
  func store(setCookieLines lines: [String], for url: URL, request: URLRequest? = nil) {
    guard let storage, policy != .never, request?.httpShouldHandleCookies ?? true else { return }
    guard let url = url.cookieURL, let host = url.host?.lowercased(), !host.isEmpty else { return }
    if policy == .onlyFromMainDocumentDomain, let main = request?.mainDocumentURL?.host?.lowercased() {
      guard main == host || main.hasSuffix("." + host) || host.hasSuffix("." + main) else { return }
    }
    var stored = storage.cookies ?? []
    // The cookies of one response are ordered: each is a microsecond later than the one before.
    var created = Date().timeIntervalSinceReferenceDate
    var cookies: [HTTPCookie] = []
    for line in lines.prefix(CookieRules.mostOfADomain) {
      created += 1e-6
      guard let line = SetCookieLine(line),
        let cookie = rules.cookie(line, from: url, host: host, stored: stored, created: created)
      else { continue }
      stored.removeAll { $0.name == cookie.name && $0.domain == cookie.domain && $0.path == cookie.path }
      stored.append(cookie)
      cookies.append(cookie)
    }
    guard !cookies.isEmpty else { return }
    storage.setCookies(cookies, for: url, mainDocumentURL: request?.mainDocumentURL)
    if stored.count > CookieRules.mostOfADomain {
      for cookie in rules.excess(storage.cookies ?? []) { storage.deleteCookie(cookie) }
    }
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
