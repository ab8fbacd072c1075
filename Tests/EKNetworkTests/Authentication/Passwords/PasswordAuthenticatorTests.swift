import Testing

@testable import EKNetwork

struct PasswordAuthenticatorTests {
  private typealias Scheme = PasswordAuthenticator.Scheme

  private let key: PasswordAuthenticator.Key
  private var authenticator = PasswordAuthenticator()

  init() throws {
    let origin = try Self.origin("http://a")
    key = PasswordAuthenticator.Key(
      credential: PasswordCredential(user: "u", password: "p"), origin: origin, trust: nil)
  }

  private static func origin(_ text: String) throws -> Origin {
    let url = try #require(URL(string: text))
    return try #require(Origin(url))
  }

  private func digest(_ nonce: String, isStale: Bool = false) -> [AuthenticationChallenge] {
    AuthenticationChallenge.all(in: "Digest realm=r, qop=auth, nonce=\(nonce)\(isStale ? ", stale=TRUE" : "")")
  }

  private let basic = AuthenticationChallenge.all(in: "Basic realm=\"r\"")

  private mutating func scheme(
    after challenges: [AuthenticationChallenge], for other: PasswordAuthenticator.Key? = nil,
    at path: String = "/", sent: Scheme? = nil, retryCount: Int = 0, clientNonce: String = "c"
  ) -> Scheme? {
    authenticator.scheme(
      after: challenges, for: other ?? key, at: path, sent: sent, retryCount: retryCount, clientNonce: clientNonce)
  }

  /// The server accepts what was sent.
  private mutating func accept(_ scheme: Scheme?, for other: PasswordAuthenticator.Key? = nil) {
    if case .digest(let use)? = scheme { authenticator.accepted(use, for: other ?? key) }
  }

  /// The parameters of the `Authorization`.
  private func parameters(_ scheme: Scheme?, clientNonce: String = "c") -> [String: String] {
    let field = scheme?.authorization(as: key.credential, method: "GET", target: "/", clientNonce: clientNonce)
    return field.flatMap { AuthenticationChallenge.all(in: $0).first?.parameters } ?? [:]
  }

  @Test mutating func nothingIsSentBeforeTheServerAsks() {
    #expect(authenticator.scheme(for: key, at: "/") == nil)
    #expect(scheme(after: []) == nil)
    #expect(scheme(after: AuthenticationChallenge.all(in: "Negotiate, Bearer realm=r, Basic")) == nil)
  }

  @Test mutating func digestIsSentAndRemembered() throws {
    let sent = scheme(after: digest("n") + basic)
    let first = parameters(sent)
    #expect(first["nonce"] == "n" && first["nc"] == "00000001")
    accept(sent)
    let second = parameters(authenticator.scheme(for: key, at: "/"))
    #expect(second["nonce"] == "n" && second["nc"] == "00000002")
  }

  @Test mutating func requestsThatAreAskedAtOnceHaveNumbersOfTheirOwn() {
    for number in 1...3 {
      let sent = scheme(after: digest("n"))
      #expect(parameters(sent)["nc"] == "0000000\(number)")
    }
    let other = scheme(after: digest("m"))
    #expect(parameters(other)["nc"] == "00000001")
  }

  /// RFC 7616 §3.4.2: the key of a session is made once.
  @Test(arguments: ["MD5", "MD5-sess"]) mutating func clientNonceOfSessionIsTheFirst(_ algorithm: String) {
    let challenge = AuthenticationChallenge.all(in: "Digest realm=r, qop=auth, nonce=n, algorithm=\(algorithm)")
    let first = scheme(after: challenge, clientNonce: "1")
    #expect(parameters(first, clientNonce: "1")["cnonce"] == "1")
    accept(first)
    let asked = scheme(after: challenge, clientNonce: "2")
    let advance = authenticator.scheme(for: key, at: "/")
    for (scheme, nonce) in [(asked, "2"), (advance, "3")] {
      #expect(parameters(scheme, clientNonce: nonce)["cnonce"] == (algorithm == "MD5" ? nonce : "1"))
    }
  }

  /// RFC 7616 §3.5, and §3.4.2: the key of a session stays that of the first nonce.
  @Test(arguments: ["MD5", "MD5-sess"]) mutating func nextNonceIsUsed(_ algorithm: String) throws {
    let challenge = AuthenticationChallenge.all(in: "Digest realm=r, qop=auth, nonce=n, algorithm=\(algorithm)")
    guard case .digest(let use)? = scheme(after: challenge, clientNonce: "1") else { return #expect(Bool(false)) }
    authenticator.accepted(use, nextNonce: "m", for: key)
    // Of a request that was sent before.
    authenticator.accepted(use, nextNonce: "k", for: key)
    let next = parameters(authenticator.scheme(for: key, at: "/"), clientNonce: "2")
    #expect(next["nonce"] == "m" && next["nc"] == "00000001")
    func hash(_ text: String) -> String { MD5.hexadecimal(Array(text.utf8)) }
    let isSession = algorithm == "MD5-sess"
    let secret = isSession ? hash("\(hash("u:r:p")):n:1") : hash("u:r:p")
    #expect(next["response"] == hash("\(secret):m:00000001:\(isSession ? 1 : 2):auth:\(hash("GET:/"))"))
  }

  /// Every later request would fail.
  @Test(arguments: ["", " ", "m\u{1}", "m\r\nX: 1", String(repeating: "m", count: 8192)])
  mutating func nextNonceThatCannotBeSentIsNotUsed(_ nonce: String) {
    guard case .digest(let use)? = scheme(after: digest("n")) else { return #expect(Bool(false)) }
    authenticator.accepted(use, nextNonce: nonce, for: key)
    let next = parameters(authenticator.scheme(for: key, at: "/"))
    #expect(next["nonce"] == "n" && next["nc"] == "00000002")
  }

  @Test mutating func nobodyElseIsSentIt() throws {
    let sent = scheme(after: digest("n"))
    accept(sent)
    let elsewhere = try Self.origin("http://b")
    for other in [
      PasswordAuthenticator.Key(
        credential: PasswordCredential(user: "u", password: "q"), origin: key.origin, trust: nil),
      PasswordAuthenticator.Key(
        credential: PasswordCredential(user: "v", password: "p"), origin: key.origin, trust: nil),
      PasswordAuthenticator.Key(credential: key.credential, origin: elsewhere, trust: nil),
      PasswordAuthenticator.Key(credential: key.credential, origin: key.origin, trust: "other"),
    ] {
      #expect(authenticator.scheme(for: other, at: "/") == nil)
    }
  }

  private func digest(_ nonce: String, realm: String, domain: String? = nil) -> [AuthenticationChallenge] {
    let domain = domain.map { ", domain=\"\($0)\"" } ?? ""
    return AuthenticationChallenge.all(in: "Digest realm=\(realm), qop=auth, nonce=\(nonce)\(domain)")
  }

  private mutating func advance(_ path: String) -> [String: String] {
    parameters(authenticator.scheme(for: key, at: path))
  }

  /// RFC 7616 §3.3: a protection space is a realm of a server.
  @Test mutating func realmsHaveNoncesOfTheirOwn() {
    let first = scheme(after: digest("n", realm: "a"), at: "/a/1")
    accept(first)
    let second = scheme(after: digest("m", realm: "b"), at: "/b/1")
    #expect(parameters(second)["realm"] == "b" && parameters(second)["nc"] == "00000001")
    // The password has not been accepted there yet.
    #expect(advance("/b/2").isEmpty)
    accept(second)
    for number in 2...3 {
      let (a, b) = (advance("/a/2"), advance("/b/2"))
      #expect(a["realm"] == "a" && a["nonce"] == "n" && a["nc"] == "0000000\(number)")
      #expect(b["realm"] == "b" && b["nonce"] == "m" && b["nc"] == "0000000\(number)")
    }
    // Of both it is only known that they cover the server: the last that has asked is tried.
    #expect(advance("/c")["realm"] == "b")
  }

  /// It was not asked for there.
  @Test mutating func challengeOfAnotherRealmDoesNotRejectThePassword() {
    let first = scheme(after: digest("n", realm: "a"), at: "/a/1")
    accept(first)
    let second = scheme(after: digest("n", realm: "b"), at: "/a/b/1", sent: first)
    #expect(parameters(second)["realm"] == "b")
    #expect(scheme(after: digest("n", realm: "b"), at: "/a/b/1", sent: second, retryCount: 1) == nil)
    #expect(advance("/a/b/1").isEmpty)
    #expect(advance("/a/1")["nc"] == "00000002")
  }

  @Test mutating func nextNonceBelongsToItsRealm() {
    guard case .digest(let a)? = scheme(after: digest("n", realm: "a"), at: "/a/1"),
      case .digest(let b)? = scheme(after: digest("n", realm: "b"), at: "/b/1")
    else { return #expect(Bool(false)) }
    authenticator.accepted(a, nextNonce: "next", for: key)
    authenticator.accepted(b, for: key)
    #expect(advance("/a/1")["nonce"] == "next")
    #expect(advance("/b/1")["nonce"] == "n")
    #expect(parameters(authenticator.scheme(after: b, for: key))["nonce"] == "n")
  }

  /// RFC 7616 §3.3: what begins with a URI of the domain belongs to it; without one, all of the server.
  @Test(
    arguments: [
      ("/x", ["/x", "/x/y", "/asked/2"], ["/", "/y", "/asked"]),
      ("/x http://a/y/ http://b/z //b/w z", ["/x", "/y/1", "/asked/2"], ["/y", "/z", "/w", "/"]),
      ("http://a", ["/", "/x"], []), ("", ["/", "/x"], []), (" ", ["/"], []), (nil, ["/", "/x"], []),
    ] as [(String?, [String], [String])])
  mutating func domainSaysWhereItIsSentInAdvance(_ domain: String?, _ inside: [String], _ outside: [String]) {
    let sent = scheme(after: digest("n", realm: "r", domain: domain), at: "/asked/1")
    accept(sent)
    for path in inside { #expect(!advance(path).isEmpty, "\(path)") }
    for path in outside { #expect(advance(path).isEmpty, "\(path)") }
    // Nor is it sent in the clear.
    #expect(authenticator.scheme(for: key, at: "/elsewhere", unasked: .basic) != .basic)
  }

  /// A server could invent realms.
  @Test mutating func noMoreThanSomeRealmsAreRemembered() {
    for number in 0..<100 {
      let sent = scheme(after: digest("n", realm: "r\(number)"), at: "/\(number)/1")
      accept(sent)
    }
    #expect(advance("/99/1")["realm"] == "r99" && advance("/92/1")["realm"] == "r92")
    #expect(advance("/91/1")["realm"] == "r99")
  }

  @Test mutating func wrongPasswordIsSentOnce() throws {
    let first = scheme(after: digest("1"))
    #expect(scheme(after: digest("1"), sent: first, retryCount: 1) == nil)
    #expect(scheme(after: digest("2"), sent: first, retryCount: 1) == nil)
  }

  /// The server may count the failures.
  @Test mutating func onlyAcceptedPasswordIsSentInAdvance() throws {
    let first = scheme(after: digest("1"))
    #expect(authenticator.scheme(for: key, at: "/") == nil)
    #expect(scheme(after: digest("2"), sent: first, retryCount: 1) == nil)
    #expect(authenticator.scheme(for: key, at: "/") == nil)
    let second = scheme(after: digest("3"))
    accept(second)
    let advance = authenticator.scheme(for: key, at: "/")
    #expect(parameters(advance)["nc"] == "00000002")
    // It has changed meanwhile.
    let third = scheme(after: digest("4"), sent: advance)
    #expect(scheme(after: digest("5"), sent: third, retryCount: 1) == nil)
    #expect(authenticator.scheme(for: key, at: "/") == nil)
    let fourth = scheme(after: digest("6"))
    accept(fourth)
    let last = authenticator.scheme(for: key, at: "/")
    #expect(scheme(after: digest("6"), sent: last) == nil)
    #expect(authenticator.scheme(for: key, at: "/") == nil)
  }

  @Test mutating func staleNonceIsReplacedOnce() throws {
    let first = scheme(after: digest("1"))
    let second = scheme(after: digest("2", isStale: true), sent: first, retryCount: 1)
    #expect(parameters(second)["nonce"] == "2" && parameters(second)["nc"] == "00000001")
    #expect(scheme(after: digest("3", isStale: true), sent: second, retryCount: 2) == nil)
  }

  /// Many servers forget nonces without saying that they were right.
  @Test mutating func rememberedNonceMayBeTooOld() throws {
    let first = scheme(after: digest("1"))
    accept(first)
    let advance = authenticator.scheme(for: key, at: "/")
    #expect(scheme(after: digest("1"), sent: advance) == nil)
    let second = scheme(after: digest("2"), sent: advance)
    #expect(parameters(second)["nonce"] == "2")
    #expect(scheme(after: digest("3"), sent: second, retryCount: 1) == nil)
  }

  @Test mutating func basicIsSentOnceAndNotRemembered() {
    let first = scheme(after: basic)
    #expect(first == .basic)
    let field = first?.authorization(as: key.credential, method: "GET", target: "/", clientNonce: "c")
    #expect(field == "Basic dTpw")
    #expect(scheme(after: basic, sent: first, retryCount: 1) == nil)
    #expect(authenticator.scheme(for: key, at: "/") == nil)
    // In advance, from the URL.
    #expect(scheme(after: basic, sent: .basic) == nil)
    let second = scheme(after: digest("n"), sent: .basic)
    #expect(parameters(second)["nonce"] == "n")
  }

  /// Somebody on the way could ask for it.
  @Test mutating func passwordIsNotRevealedAfterDigest() {
    let sent = scheme(after: digest("n"))
    #expect(scheme(after: basic) == nil)
    #expect(authenticator.scheme(for: key, at: "/", unasked: .basic) == nil)
    accept(sent)
    #expect(authenticator.scheme(for: key, at: "/", unasked: .basic) != .basic)
  }

  @Test(arguments: ["algorithm=SHA-512-256", "qop=auth-int"])
  mutating func unsupportedDigestIsPassedOver(_ parameter: String) {
    let unsupported = AuthenticationChallenge.all(in: "Digest realm=r, nonce=n, \(parameter)")
    #expect(scheme(after: unsupported) == nil)
    #expect(scheme(after: unsupported + basic) == .basic)
    let sent = scheme(after: unsupported + basic + digest("n"))
    #expect(parameters(sent)["qop"] == "auth")
    #expect(scheme(after: unsupported + basic) == nil)
  }

  /// It is the server that has asked, not one user's server.
  @Test mutating func otherPasswordIsNotRevealedAfterDigest() throws {
    _ = scheme(after: digest("n"))
    for (user, password) in [("u", "q"), ("v", "p")] {
      let other = PasswordAuthenticator.Key(
        credential: PasswordCredential(user: user, password: password), origin: key.origin, trust: nil)
      #expect(authenticator.scheme(for: other, at: "/", unasked: .basic) == nil)
      #expect(scheme(after: basic, for: other) == nil)
    }
    let elsewhere = PasswordAuthenticator.Key(
      credential: key.credential, origin: try Self.origin("http://b"), trust: nil)
    #expect(authenticator.scheme(for: elsewhere, at: "/", unasked: .basic) == .basic)
  }

  /// A gateway may have a password for each of its users.
  @Test mutating func manyUsersDoNotMakeTheServerForgotten() {
    for number in 0..<300 {
      let other = PasswordAuthenticator.Key(
        credential: PasswordCredential(user: "u\(number)", password: "p"), origin: key.origin, trust: nil)
      _ = scheme(after: digest("n"), for: other)
    }
    #expect(authenticator.scheme(for: key, at: "/", unasked: .basic) == nil)
    #expect(scheme(after: basic) == nil)
  }

  @Test mutating func noMoreThanSomeServersAreRemembered() throws {
    for port in 1000..<1300 {
      let origin = try Self.origin("http://a:\(port)")
      let key = PasswordAuthenticator.Key(credential: key.credential, origin: origin, trust: nil)
      let sent = scheme(after: digest("n"), for: key)
      accept(sent, for: key)
      #expect(authenticator.scheme(for: key, at: "/") != nil)
    }
    #expect(authenticator.scheme(for: key, at: "/") == nil)
    let first = PasswordAuthenticator.Key(
      credential: key.credential, origin: try Self.origin("http://a:1000"), trust: nil)
    #expect(authenticator.scheme(for: first, at: "/") == nil)
  }

  @Test func customSessionHasOneKnowledge() throws {
    final class Session: URLSessionProtocol, URLSessionStreamingProtocol {
      func data(for request: URLRequest) async throws -> (Data, URLResponse) { throw URLError(.cancelled) }
    }
    func authenticators(_ session: Session) -> [Locked<PasswordAuthenticator>] {
      [
        SessionTransport(session).sessionSettings.authenticator,
        StreamingSessionTransport(session).sessionSettings.authenticator,
      ]
    }
    let (challenges, key) = (digest("n"), key)
    let (session, other) = (Session(), Session())
    let isAccepted = authenticators(session)[0].withLock { authenticator in
      let sent = authenticator.scheme(after: challenges, for: key, at: "/", sent: nil, retryCount: 0, clientNonce: "c")
      guard case .digest(let use)? = sent else { return false }
      authenticator.accepted(use, for: key)
      return true
    }
    #expect(isAccepted)
    let known = (authenticators(session) + authenticators(other)).map { authenticator in
      authenticator.withLock { $0.scheme(for: key, at: "/") != nil }
    }
    #expect(known == [true, true, false, false])
  }

  @Test func passwordIsNotInAnyText() {
    let credential = PasswordCredential(user: "ann", password: "secret")
    var text = "\(credential) \(String(reflecting: credential))"
    dump(credential, to: &text)
    #expect(text.contains("ann") && !text.contains("secret"))
  }
}
