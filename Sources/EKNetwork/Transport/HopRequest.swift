import Foundation

/// One hop of a request, complete: its own header fields, those of its session, and its cookies, as far as its origin
/// may receive them. This is the only place where they are put together, whichever transport sends the request.
struct HopRequest: Sendable {
  /// The request as its caller, or the previous redirect, made it. Another redirect starts from it.
  private(set) var own: HTTPRequest
  /// The request as it is sent.
  private(set) var sent: HTTPRequest
  /// Whether the request has left the origin that the session's credentials are meant for. They are not added again
  /// when a redirect leads back to it: the other origin chose that request.
  let hasLeftOrigin: Bool
  /// Whether middleware has changed the cookies.
  private var hasOtherCookies = false
  /// Whether middleware has changed the `Authorization`: responses are not about the password then.
  private(set) var hasOtherCredentials = false
  private let start: URL?
  private var password: Password?

  /// The user and the password for its origin. In a class, because few requests have some.
  private final class Password: Sendable {
    let credential: PasswordCredential
    /// What the hop is sent with in its name; `nil` if nothing.
    let scheme: PasswordAuthenticator.Scheme?
    /// The value of its `Authorization`.
    let authorization: String?
    /// How often the request was sent again for a challenge.
    let retryCount: Int
    private let clientNonce: String

    init(
      _ credential: PasswordCredential, _ scheme: PasswordAuthenticator.Scheme?, for request: HTTPRequest,
      clientNonce: String, retryCount: Int = 0
    ) {
      self.credential = credential
      self.scheme = scheme
      self.retryCount = retryCount
      self.clientNonce = clientNonce
      authorization = scheme.map { scheme in
        var target: [UInt8] = []
        var text = request.url.absoluteString
        text.withUTF8 { RequestHead.appendTarget(of: $0, to: &target) }
        return scheme.authorization(
          as: credential, method: request.method, target: String(decoding: target, as: UTF8.self),
          clientNonce: clientNonce)
      }
    }

    /// Returns the same for a request that is sent instead: Digest is about its method and its target (RFC 7616 §3.4.3).
    func moved(to request: HTTPRequest, _ other: PasswordAuthenticator.Scheme? = nil) -> Password {
      Password(credential, other ?? scheme, for: request, clientNonce: clientNonce, retryCount: retryCount)
    }
  }

  /// The user and the password for its origin, if there are some; `nil` if the request has an `Authorization` of its own.
  var credential: PasswordCredential? { password?.credential }
  /// Whether a redirect has led to this hop.
  var isRedirected: Bool { start != nil }
  private var session: SessionSettings?
  /// What the session presented and trusted when the hop was made, as far as its origin is concerned: it is what the
  /// hop is sent over. The files may be replaced while the request is in progress, and the response still belongs to
  /// the user of these.
  private(set) var connection: ConnectionIdentity?
  /// The cookies that the system added when the hop was made, for the same reason.
  private var systemCookie: String?

  /// Creates a hop to which no session adds anything.
  init(_ request: HTTPRequest) {
    own = Self.withUserOfURL(request)
    sent = own
    hasLeftOrigin = false
    start = nil
    session = nil
  }

  /// - Parameters:
  ///   - request: The request, without what its session adds.
  ///   - session: The settings of the session that sends it.
  ///   - hasLeftOrigin: Whether a redirect, or middleware, has led to another origin.
  ///   - start: The URL that the request began with, if a redirect has led to this hop.
  ///   - credential: The user and the password for its origin, unless its URL has some.
  /// - Throws: ``InvalidHeaderError`` for a field of the session that cannot be sent, `URLError.badURL` for a password in the
  ///   URL that is not UTF-8.
  // Not inlined into the frame of the exchange, which is kept while a request waits: see ``RequestRunner``.
  @inline(never)
  init(
    _ request: HTTPRequest, session: SessionSettings, hasLeftOrigin: Bool = false, start: URL? = nil,
    credential: PasswordCredential? = nil
  ) throws {
    let special = request.url.isPlain ? nil : request.url
    try self.init(
      request, session: session, special: special, hasLeftOrigin: hasLeftOrigin, start: start,
      password: Self.password(
        for: request, of: session, hasLeftOrigin: hasLeftOrigin, ofURL: special?.credential, credential))
  }

  /// - Parameter special: The request's URL, unless it is plain.
  private init(
    _ request: HTTPRequest, session: SessionSettings, special: URL?, hasLeftOrigin: Bool, start: URL?,
    password: Password?
  ) throws {
    own = request
    self.session = session
    self.hasLeftOrigin = hasLeftOrigin
    self.start = start
    self.password = password
    connection = session.connection(to: special, hasLeftOrigin: hasLeftOrigin)
    var sent = own
    if let authorization = password?.authorization {
      sent.set("Authorization", authorization)
    }
    for (name, lowercased, value) in session.additionalHeaders {
      let value = try InvalidHeaderError.checked(value, of: name)
      guard !sent.fields.contains(lowercased), !(hasLeftOrigin && OriginFields.stays(name)) else { continue }
      sent.set(name, value)
    }
    if !session.systemSendsCookies { session.cookies.apply(to: &sent, start: start) }
    self.sent = sent
    systemCookie = Self.systemCookie(for: sent, of: session, start: start)
  }

  /// Adds the credentials in the URL as an `Authorization` field.
  private static func withUserOfURL(_ request: HTTPRequest) -> HTTPRequest {
    guard let credential = try? request.url.credential, request.authorization == nil else { return request }
    var request = request
    request.set("Authorization", credential.basicAuthorization)
    return request
  }

  // MARK: - Passwords

  /// Returns what is sent before the server asks.
  private static func password(
    for request: HTTPRequest, of session: SessionSettings, hasLeftOrigin: Bool, ofURL: PasswordCredential?,
    _ credential: PasswordCredential?
  ) -> Password? {
    guard let credential = ofURL ?? credential, request.authorization == nil else { return nil }
    let key = key(of: request, by: session, hasLeftOrigin: hasLeftOrigin, credential)
    let unasked: PasswordAuthenticator.Scheme? = ofURL == nil ? nil : .basic
    let path = request.url.pathOrRoot
    let scheme: PasswordAuthenticator.Scheme? =
      if let key {
        session.authenticator.withLock { $0.scheme(for: key, at: path, unasked: unasked) }
      } else {
        unasked
      }
    return Password(credential, scheme, for: request, clientNonce: clientNonce())
  }

  /// Returns this hop with the credentials that the challenges of a 401 ask for, and the cookies that came with them; `nil` if
  /// there are none, or its body cannot be sent again. A response that proves the password is recorded.
  func responding(to head: ResponseHead, by transport: any Transport) throws -> HopRequest? {
    guard let password, let session else { return nil }
    guard head.statusCode == 401 else {
      notePassword(provenBy: head, of: transport)
      return nil
    }
    guard !head.isToOtherCredentials, let key = key(for: head, of: transport), own.bodyIsReplayable,
      let field = head.carried("www-authenticate")
    else { return nil }
    let challenges = AuthenticationChallenge.all(in: field)
    let clientNonce = Self.clientNonce()
    let path = own.url.pathOrRoot
    let scheme = session.authenticator.withLock {
      $0.scheme(
        after: challenges, for: key, at: path, sent: password.scheme, retryCount: password.retryCount,
        clientNonce: clientNonce)
    }
    guard let scheme else { return nil }
    return try HopRequest(
      own, session: session, special: own.url, hasLeftOrigin: hasLeftOrigin, start: start,
      password: Password(
        password.credential, scheme, for: sent, clientNonce: clientNonce, retryCount: password.retryCount + 1))
  }

  /// Records that the server has accepted the password, if a response that the transport has delivered proves it, and which
  /// nonce it expects next.
  func notePassword(provenBy head: ResponseHead, of transport: any Transport) {
    guard case .digest(let use)? = password?.scheme, !hasOtherCredentials, head.provesPassword,
      let key = key(for: head, of: transport)
    else { return }
    let next = head.nextNonce
    guard !use.isAccepted || next != nil else { return }
    session?.authenticator.withLock { $0.accepted(use, nextNonce: next, for: key) }
  }

  /// Returns whose password a response is about; `nil` if it is about none.
  private func key(for head: ResponseHead, of transport: any Transport) -> PasswordAuthenticator.Key? {
    guard let password, let session,
      let key = Self.key(of: own, by: session, hasLeftOrigin: hasLeftOrigin, password.credential),
      // A custom session may have followed a redirect to another one, and would take the password there.
      !transport.resolvesRedirects || head.url.flatMap({ Origin($0) }) == key.origin
    else { return nil }
    return key
  }

  /// Returns the same for a hop that has passed middleware, whose changes stay; `nil` if the challenges are about credentials
  /// that middleware has set.
  func respondingBelowMiddleware(to head: ResponseHead, by transport: any Transport) throws -> HopRequest? {
    guard let session, !hasOtherCredentials, let hop = try responding(to: head, by: transport) else { return nil }
    var request = sent
    request.set("Authorization", hop.password?.authorization)
    if !hasOtherCookies { request.set("Cookie", hop.sent.cookies) }
    var next = hop.replaced(by: request, session: session)
    next.hasOtherCookies = hasOtherCookies
    return next
  }

  /// The credential for the next hop of a redirect.
  func credential(for next: HTTPRequest) -> PasswordCredential? {
    guard let credential, Origin(own.url) == Origin(next.url) else { return nil }
    return credential
  }

  private static func key(
    of request: HTTPRequest, by session: SessionSettings, hasLeftOrigin: Bool, _ credential: PasswordCredential
  ) -> PasswordAuthenticator.Key? {
    guard let origin = Origin(request.url) else { return nil }
    return PasswordAuthenticator.Key(
      credential: credential, origin: origin,
      trust: session.connection(to: request.url, hasLeftOrigin: hasLeftOrigin).trust)
  }

  private static func clientNonce() -> String {
    (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
  }

  // MARK: - Changes

  /// Returns this hop with another stream as its body.
  func sending(_ body: InputStream) -> HopRequest {
    var hop = self
    hop.own.body = .stream(body)
    hop.sent.body = .stream(body)
    return hop
  }

  /// Returns this hop with `request` as the one that is sent, over `session`.
  func replaced(by request: HTTPRequest, session: SessionSettings) -> HopRequest {
    var (hop, request) = (self, request)
    if request.cookies != sent.cookies { hop.hasOtherCookies = true }
    if request.authorization != sent.authorization { hop.hasOtherCredentials = true }
    if let password, let authorization = password.authorization, request.authorization == authorization {
      let moved = password.moved(to: request)
      hop.password = moved
      request.set("Authorization", moved.authorization)
    }
    hop.sent = request
    hop.session = session
    hop.connection = session.connection(to: request.url, hasLeftOrigin: hasLeftOrigin)
    hop.systemCookie = Self.systemCookie(for: request, of: session, start: start)
    return hop
  }

  /// Returns this hop to be sent once more: no number is used twice with a nonce (RFC 7616 §3.4).
  func sentAgain() -> HopRequest {
    guard let password, let session, case .digest(let use)? = password.scheme,
      sent.authorization == password.authorization,
      let key = Self.key(of: own, by: session, hasLeftOrigin: hasLeftOrigin, password.credential),
      let scheme = session.authenticator.withLock({ $0.scheme(after: use, for: key) })
    else { return self }
    var hop = self
    let next = password.moved(to: sent, scheme)
    hop.password = next
    hop.sent.set("Authorization", next.authorization)
    return hop
  }

  /// Returns this hop with these fields set for this hop alone, bypassing the system's cache, which would respond by
  /// rules of its own.
  func sending(_ fields: [(name: String, value: String)]) -> HopRequest {
    var hop = self
    hop.sent.bypassSystemCache()
    for (name, value) in fields { hop.sent.set(name, value) }
    return hop
  }

  /// The names of the header fields that are sent, but are not the request's own.
  var addedFields: [String] {
    sent.fields.map(\.name).filter { own.value($0.lowercased()) == nil }
  }

  /// All header fields that are sent, including the cookies that the system adds, for comparisons with those of other requests:
  /// the credentials of Digest differ for each request, and what counts is whose they are.
  var sentFields: HeaderFieldList {
    var fields = sent.fields
    // There is none in the request itself, to which the system would not add another.
    if let systemCookie { fields.replace("Cookie", systemCookie) }
    guard let password, let own = password.authorization, fields.first("authorization") == own else { return fields }
    fields.replace("Authorization", Self.neutral(password))
    return fields
  }

  /// The same text for a user and a password, however often they were sent, which no request can have as its own field if
  /// the server asked for Digest.
  private static func neutral(_ password: Password) -> String {
    let basic = password.credential.basicAuthorization
    return password.authorization == basic ? basic : "\n\(password.credential.user.utf8.count) \(basic)"
  }

  /// The same fields, for what tells users apart: a password counts also if it is only sent when the server asks.
  var identifyingFields: HeaderFieldList {
    var fields = sentFields
    guard let password else { return fields }
    let (own, neutral) = (password.credential.basicAuthorization, Self.neutral(password))
    let user = password.credential.user
    // With a colon in its name, the text would also be that of another user.
    let identity = user.contains(":") ? "\n\(user.utf8.count) \(own)" : own
    if let sent = fields.first("authorization"), sent == own || sent == neutral { fields.remove("authorization") }
    fields.append("Authorization", identity)
    return fields
  }

  /// Whether the session still has the certificate and the authorities with which the hop was made. If not, the
  /// response may be to another user, and must not be stored: a connection reads the files when it is opened.
  var isOfCurrentUser: Bool {
    session.map { connection == $0.connection(to: sent.url, hasLeftOrigin: hasLeftOrigin) } ?? true
  }

  private static func systemCookie(for request: HTTPRequest, of session: SessionSettings, start: URL?) -> String? {
    guard session.systemSendsCookies else { return nil }
    var sent = request
    return session.cookies.apply(to: &sent, start: start) ? sent.cookies : nil
  }

  /// The owner and the certificate of the session, if any, which tell users apart without a header field.
  var sessionParts: [String] {
    session.map { [$0.owner ?? "", connection?.certificate ?? ""] } ?? []
  }

  /// Which session sends the request: ``SessionSettings/number``. `nil` if there is none.
  var sessionNumber: Int? { session?.number }

  /// The identity of the sender, as far as the request reveals it.
  var identity: RequestIdentity { RequestIdentity.of(self) }

  /// Whether the response may be specific to one user.
  var namesUser: Bool {
    session?.owner != nil || connection?.certificate != nil || credential != nil
      || sentFields.contains { OriginFields.contains($0.name) && !$0.name.isFieldName("host") }
  }
}

extension HTTPRequest {
  fileprivate var cookies: String? { value("cookie") }
  fileprivate var authorization: String? { value("authorization") }
}

extension ResponseHead {
  /// The statuses of errors that a server finds after it has looked at the password. Others may come from what is in front of
  /// it, such as a limit of requests (429).
  private static let provingErrors: Set<Int> = [403, 404, 405, 406, 409, 410, 412, 415, 416, 422]

  /// Whether the server has accepted the password that the request was sent with. A response from a cache (RFC 9111 §5.1) was
  /// meant for an earlier request.
  var provesPassword: Bool {
    // A cache on the way, or the confirmation of a stored response, may add an age of 0.
    guard let statusCode, isReceived, !isStored, value("age").flatMap({ Int($0) }) ?? 0 == 0 else { return false }
    return (200..<400).contains(statusCode) || Self.provingErrors.contains(statusCode)
  }

  /// The nonce that the server expects next (RFC 7616 §3.5); `nil` if there is none, or if a cache may have kept it.
  var nextNonce: String? {
    guard let field = value("authentication-info"), value("age") == nil else { return nil }
    let info = AuthenticationChallenge.all(in: "Digest \(field)").first
    return info?.isAmbiguous == false ? info?.parameters["nextnonce"] : nil
  }
}
