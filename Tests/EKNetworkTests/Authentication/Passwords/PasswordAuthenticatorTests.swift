import Testing

@testable import EKNetwork

@Suite struct PasswordAuthenticatorTests {
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
    after challenges: [AuthenticationChallenge], for other: PasswordAuthenticator.Key? = nil, sent: Scheme? = nil,
    retryCount: Int = 0, clientNonce: String = "c"
  ) -> Scheme? {
    authenticator.scheme(
      after: challenges, for: other ?? key, sent: sent, retryCount: retryCount, clientNonce: clientNonce)
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
    #expect(authenticator.scheme(for: key) == nil)
    #expect(scheme(after: []) == nil)
    #expect(scheme(after: AuthenticationChallenge.all(in: "Negotiate, Bearer realm=r, Basic")) == nil)
  }

  @Test mutating func digestIsSentAndRemembered() throws {
    let sent = scheme(after: digest("n") + basic)
    let first = parameters(sent)
    #expect(first["nonce"] == "n" && first["nc"] == "00000001")
    accept(sent)
    let second = parameters(authenticator.scheme(for: key))
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
    let advance = authenticator.scheme(for: key)
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
    let next = parameters(authenticator.scheme(for: key), clientNonce: "2")
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
    let next = parameters(authenticator.scheme(for: key))
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
      #expect(authenticator.scheme(for: other) == nil)
    }
  }

  @Test mutating func wrongPasswordIsSentOnce() throws {
    let first = scheme(after: digest("1"))
    #expect(scheme(after: digest("1"), sent: first, retryCount: 1) == nil)
    #expect(scheme(after: digest("2"), sent: first, retryCount: 1) == nil)
  }

  /// The server may count the failures.
  @Test mutating func onlyAcceptedPasswordIsSentInAdvance() throws {
    let first = scheme(after: digest("1"))
    #expect(authenticator.scheme(for: key) == nil)
    #expect(scheme(after: digest("2"), sent: first, retryCount: 1) == nil)
    #expect(authenticator.scheme(for: key) == nil)
    let second = scheme(after: digest("3"))
    accept(second)
    let advance = authenticator.scheme(for: key)
    #expect(parameters(advance)["nc"] == "00000002")
    // It has changed meanwhile.
    let third = scheme(after: digest("4"), sent: advance)
    #expect(scheme(after: digest("5"), sent: third, retryCount: 1) == nil)
    #expect(authenticator.scheme(for: key) == nil)
    let fourth = scheme(after: digest("6"))
    accept(fourth)
    let last = authenticator.scheme(for: key)
    #expect(scheme(after: digest("6"), sent: last) == nil)
    #expect(authenticator.scheme(for: key) == nil)
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
    let advance = authenticator.scheme(for: key)
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
    #expect(authenticator.scheme(for: key) == nil)
    // In advance, from the URL.
    #expect(scheme(after: basic, sent: .basic) == nil)
    let second = scheme(after: digest("n"), sent: .basic)
    #expect(parameters(second)["nonce"] == "n")
  }

  /// Somebody on the way could ask for it.
  @Test mutating func passwordIsNotRevealedAfterDigest() {
    let sent = scheme(after: digest("n"))
    #expect(scheme(after: basic) == nil)
    #expect(authenticator.scheme(for: key, unasked: .basic) == nil)
    accept(sent)
    #expect(authenticator.scheme(for: key, unasked: .basic) != .basic)
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
      #expect(authenticator.scheme(for: other, unasked: .basic) == nil)
      #expect(scheme(after: basic, for: other) == nil)
    }
    let elsewhere = PasswordAuthenticator.Key(
      credential: key.credential, origin: try Self.origin("http://b"), trust: nil)
    #expect(authenticator.scheme(for: elsewhere, unasked: .basic) == .basic)
  }

  /// A gateway may have a password for each of its users.
  @Test mutating func manyUsersDoNotMakeTheServerForgotten() {
    for number in 0..<300 {
      let other = PasswordAuthenticator.Key(
        credential: PasswordCredential(user: "u\(number)", password: "p"), origin: key.origin, trust: nil)
      _ = scheme(after: digest("n"), for: other)
    }
    #expect(authenticator.scheme(for: key, unasked: .basic) == nil)
    #expect(scheme(after: basic) == nil)
  }

  @Test mutating func noMoreThanSomeServersAreRemembered() throws {
    for port in 1000..<1300 {
      let origin = try Self.origin("http://a:\(port)")
      let key = PasswordAuthenticator.Key(credential: key.credential, origin: origin, trust: nil)
      let sent = scheme(after: digest("n"), for: key)
      accept(sent, for: key)
      #expect(authenticator.scheme(for: key) != nil)
    }
    #expect(authenticator.scheme(for: key) == nil)
    let first = PasswordAuthenticator.Key(
      credential: key.credential, origin: try Self.origin("http://a:1000"), trust: nil)
    #expect(authenticator.scheme(for: first) == nil)
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
      let sent = authenticator.scheme(after: challenges, for: key, sent: nil, retryCount: 0, clientNonce: "c")
      guard case .digest(let use)? = sent else { return false }
      authenticator.accepted(use, for: key)
      return true
    }
    #expect(isAccepted)
    let known = (authenticators(session) + authenticators(other)).map { authenticator in
      authenticator.withLock { $0.scheme(for: key) != nil }
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
