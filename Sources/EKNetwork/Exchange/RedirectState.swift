import Foundation

/// The redirects of one request (RFC 9110 §15.4): whether to follow them, where to, and with which request.
struct RedirectState {
  enum Action {
    case deliver
    case follow(HTTPRequest)
    /// The redirect cannot be followed, or must not be.
    case fail(any Error)
  }

  static let maximumHops = 20
  /// The fields that are removed from a request that becomes a GET (RFC 9110 §15.4): those about the content, which is not
  /// sent, such as its digests (RFC 9530), and about how it is sent.
  private static let contentFields: Set<String> = [
    "content-digest", "content-disposition", "content-encoding", "content-language", "content-length",
    "content-location", "content-md5", "content-range", "content-type", "digest", "expect", "last-modified",
    "repr-digest", "trailer",
  ]

  private let policy: RedirectPolicy
  private var visited: [String] = []
  /// Whether the first origin has been left, by a redirect or before, so that its credentials are no longer sent.
  private(set) var hasLeftOrigin = false
  /// Whether a redirect has changed the method, even if it could not be followed. The redirect is then the response to
  /// the original request, which was carried out (RFC 9110 §15.4.4); its target is another request.
  private(set) var hasChangedMethod = false
  /// Whether one of the redirects must not be stored. What it has led to may be, but not for the first URL.
  private(set) var mustNotBeStored = false

  init(policy: RedirectPolicy, hasLeftOrigin: Bool = false) {
    self.policy = policy
    self.hasLeftOrigin = hasLeftOrigin
  }

  var hops: Int { visited.count }

  /// Handles a response to `request`. `decision` is that of the user's own session delegate.
  // Not inlined into the frame of the exchange, which is kept while a request waits: see ``RequestRunner``.
  @inline(never)
  mutating func received(_ head: ResponseHead, for request: HopRequest, decision: RedirectDecision) -> Action {
    guard policy == .follow, let status = head.statusCode, head.isRedirect else { return .deliver }
    if CacheDirectives.forbidStorage(head.value("cache-control"), vary: head.value("vary")) { mustNotBeStored = true }
    let source = request.own.url
    switch decision {
    case .declined: return .deliver
    case .request(let proposed): return redirect(request, to: proposed, from: source)
    case .undecided: break
    }
    let location: String?
    do { location = try head.single("location") } catch {
      if Self.becomesGet(request.own.method, status: status) { hasChangedMethod = true }
      return .fail(error)
    }
    // An empty field names no target: the URL that has just been requested (RFC 3986 §4.4) would redirect again.
    guard let location else { return .deliver }
    if Self.becomesGet(request.own.method, status: status) { hasChangedMethod = true }
    // RFC 9110 §10.2.2: a URI reference, relative to the request's own URL.
    let target = ServerURL.resolve(location, against: source)
    if let error = Self.refusal(of: target, from: source) { return .fail(error) }
    guard let target else { return .deliver }
    return redirect(
      request.own, to: target.inheritingFragment(of: source).inheritingCredentials(of: source), from: source,
      status: status)
  }

  /// Returns the reason why a target must not be followed, regardless of who chose it.
  static func refusal(of target: URL?, from source: URL) -> URLError? {
    guard let target, let scheme = target.scheme?.lowercased() else {
      return URLError(.badURL, url: source, description: "The redirect's Location is not a URL")
    }
    // What listens on a socket of this machine trusts those who can reach it, and no server is one of them.
    if scheme == Origin.socketScheme {
      guard Origin(target) != Origin(source) else { return nil }
      return URLError(.unsupportedURL, url: source, description: "The server redirects to a socket of this machine")
    }
    guard scheme == "http" || scheme == "https" else {
      return URLError(
        .unsupportedURL, url: source, description: "The server redirects to a URL that is not http or https")
    }
    guard let host = target.host, !host.isEmpty else {
      return URLError(.badURL, url: source, description: "The server redirects to a URL without a host")
    }
    guard source.scheme?.lowercased() == "https", scheme == "http" else { return nil }
    return URLError(
      .appTransportSecurityRequiresSecureConnection, url: source,
      description: "The server redirects from https to http, which is refused")
  }

  /// Follows the request of the user's delegate, under the same rules. Another origin receives the credentials that the
  /// delegate set itself, but not those of the previous request.
  private mutating func redirect(_ request: HopRequest, to proposed: URLRequest, from source: URL) -> Action {
    if let error = Self.refusal(of: proposed.url, from: source) { return .fail(error) }
    var next: HTTPRequest
    do { next = try HTTPRequest(proposed, changing: request.own) } catch { return .fail(error) }
    if Origin(source) != Origin(next.url) {
      next.removeOriginFields { request.sent.value($0.lowercased()) != $1 }
    }
    return hop(from: source, to: next, after: request.own)
  }

  private mutating func redirect(_ request: HTTPRequest, to target: URL, from source: URL, status: Int) -> Action {
    var next = request
    next.url = target
    if Self.becomesGet(request.method, status: status) {
      next.method = "GET"
      next.body = nil
      next.removeFields { name, _ in Self.contentFields.contains(name.lowercased()) }
    } else if !request.bodyIsReplayable {
      // The rest of a stream is not the complete body: the redirect is the result.
      return .deliver
    }
    if Origin(source) != Origin(target) { next.removeOriginFields() }
    return hop(from: source, to: next, after: request)
  }

  private mutating func hop(from source: URL, to next: HTTPRequest, after request: HTTPRequest) -> Action {
    visited.append(source.absoluteString)
    guard visited.count <= Self.maximumHops else {
      let target = next.url.absoluteString
      let text = visited.contains(target) ? "Redirect loop" : "More than \(Self.maximumHops) redirects"
      return .fail(URLError(.httpTooManyRedirects, url: source, description: text))
    }
    if Origin(source) != Origin(next.url) { hasLeftOrigin = true }
    if next.method != request.method { hasChangedMethod = true }
    return .follow(next)
  }

  /// RFC 9110 §15.4.4: 303 requires a GET. §15.4.2 and §15.4.3: all clients change a POST to a GET after 301 and 302.
  private static func becomesGet(_ method: String, status: Int) -> Bool {
    switch status {
    case 303: method != "HEAD" && method != "GET"
    case 301, 302: method == "POST"
    default: false
    }
  }
}

extension URL {
  /// RFC 9110 §10.2.2: a location without a fragment has that of the URL that led to it.
  fileprivate func inheritingFragment(of source: URL) -> URL {
    guard fragment == nil, let fragment = source.fragment(percentEncoded: true) else { return self }
    return URL(string: "\(absoluteString)#\(fragment)") ?? self
  }
}
