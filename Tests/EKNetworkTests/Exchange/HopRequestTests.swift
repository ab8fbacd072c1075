import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct HopRequestTests {
  private func request(_ url: String, _ fields: [String: String] = [:]) throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.allHTTPHeaderFields = fields
    return request
  }

  private func session(
    _ fields: [String: String] = [:], cookies: [String: String] = [:], owner: String? = nil,
    systemSendsCookies: Bool = false
  ) throws -> SessionSettings {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = fields
    for (name, value) in cookies {
      let cookie = HTTPCookie(properties: [.name: name, .value: value, .domain: "a", .path: "/"])
      configuration.httpCookieStorage?.setCookie(try #require(cookie))
    }
    let description = SessionSettings(configuration, systemSendsCookies: systemSendsCookies)
    return owner.map { SessionSettings(description, owner: $0) } ?? description
  }

  @Test(arguments: [
    "x-functions-key", "aeg-sas-key", "X-JWT-Assertion", "X-Bearer", "Fastly-Key", "AccessKey", "DD-APPLICATION-KEY",
    "Ocp-Apim-Subscription-Key", "X-AWS-Access-Key-Id",
  ])
  func secretFieldNamesAreRecognized(_ name: String) { #expect(OriginFields.contains(name)) }

  @Test(arguments: ["Idempotency-Key", "Sec-WebSocket-Key", "Surrogate-Key", "Cache-Key", "Keep-Alive", "Accept"])
  func otherFieldNamesAreNotSecret(_ name: String) {
    #expect(!OriginFields.contains(name) && !OriginFields.isOneTime(name))
  }

  /// They count as no credential, which would make each request that of another user.
  @Test(arguments: ["X-GitHub-OTP", "otp", "OTP_Code", "X-TOTP", "DPoP"])
  func oneTimeSecretsStayWithTheirOrigin(_ name: String) throws {
    let url = try #require(URL(string: "https://a.example/"))
    var request = URLRequest(url: url)
    request.setValue("123456", forHTTPHeaderField: name)
    let recorded = HARRequest(request, redaction: HARRedaction(salt: "a", hidesSecrets: true))
    #expect(recorded.fields.value(for: name) == "<redacted>" && recorded.fingerprints.isEmpty)
    #expect(SecretFields.contains(name) && !OriginFields.contains(name))
    var sent = try HTTPRequest(request)
    sent.removeOriginFields()
    #expect(sent.fields.isEmpty)
  }

  @Test(arguments: ["X-Robotparam", "X-Hotp-Like", "Adopotion"])
  func partsOfWordsAreNoOneTimeSecrets(_ name: String) { #expect(!OriginFields.stays(name)) }

  /// The file system tells `A` from `a`, and no cookie belongs to a file.
  @Test func socketsAreOriginsOfTheirOwn() throws {
    let session = try session(cookies: ["c": "1"])
    let hops = try ["http+unix://%2FA", "http+unix://%2Fa", "http+unix://%2fa/x", "http://a"].map {
      try HopRequest(request($0), session: session)
    }
    #expect(hops.map { $0.connection?.options.socketPath } == ["/A", "/a", "/a", nil])
    #expect(hops[0].connection != hops[1].connection && hops[1].connection == hops[2].connection)
    #expect(hops[1].connection != hops[3].connection && hops[1].identity.trust != hops[3].identity.trust)
    #expect(hops.map { $0.sentFields.first("cookie") } == [nil, nil, nil, "c=1"])
    #expect(hops.map(\.isOfCurrentUser) == [true, true, true, true])
    let origins = hops.map { Origin($0.sent.url) }
    #expect(origins[0] != origins[1] && origins[1] == origins[2] && origins[2] != origins[3])
  }

  @Test func sessionFieldsAreAdded() throws {
    let session = try session(["X-App": "1", "Authorization": "session", "X-Own": "session"], cookies: ["c": "1"])
    let hop = try HopRequest(try request("http://a/", ["x-own": "own"]), session: session)
    #expect(hop.sent.urlRequest.value(forHTTPHeaderField: "X-App") == "1")
    #expect(hop.sent.urlRequest.value(forHTTPHeaderField: "Authorization") == "session")
    #expect(hop.sent.urlRequest.value(forHTTPHeaderField: "X-Own") == "own")
    #expect(hop.sent.urlRequest.value(forHTTPHeaderField: "Cookie") == "c=1")
    #expect(hop.addedFields.sorted() == ["Authorization", "Cookie", "X-App"])
    let conditional = hop.sending([("If-None-Match", "1"), ("X-Own", "hop")])
    #expect(conditional.addedFields.sorted() == ["Authorization", "Cookie", "If-None-Match", "X-App"])
    #expect(hop.own.fields == ["x-own": "own"])
  }

  @Test func credentialsAreDroppedOutsideTheOrigin() throws {
    let fields = [
      "Authorization": "s", "Cookie": "s=1", "Proxy-Authorization": "s", "Host": "h", "X-Api-Key": "s",
      "x-auth-token": "s", "X-App": "1",
    ]
    let hop = try HopRequest(
      try request("http://a/"), session: try session(fields, cookies: ["c": "1"]), hasLeftOrigin: true)
    #expect(hop.sent.urlRequest.allHTTPHeaderFields == ["X-App": "1", "Cookie": "c=1"])
  }

  @Test func cookiePrecedenceIsRequestSessionStorage() throws {
    func cookie(_ own: [String: String], _ fields: [String: String]) throws -> String? {
      try HopRequest(try request("http://a/", own), session: try session(fields, cookies: ["c": "1"])).sent.urlRequest
        .value(forHTTPHeaderField: "Cookie")
    }
    #expect(try cookie(["Cookie": "own=1"], ["Cookie": "session=1"]) == "own=1")
    #expect(try cookie([:], ["Cookie": "session=1"]) == "session=1")
    #expect(try cookie([:], [:]) == "c=1")
  }

  @Test func urlUserIsSentAsAuthorization() throws {
    func authorization(_ url: String, _ fields: [String: String] = [:]) throws -> String? {
      HopRequest(try request(url, fields)).sent.urlRequest.value(forHTTPHeaderField: "Authorization")
    }
    #expect(try authorization("http://me:p%40ss@a/") == "Basic " + Data("me:p@ss".utf8).base64EncodedString())
    #expect(try authorization("http://me@a/") == "Basic " + Data("me:".utf8).base64EncodedString())
    #expect(try authorization("http://me:x@a/", ["Authorization": "own"]) == "own")
    #expect(try authorization("http://a/") == nil)
  }

  /// Without what cannot be decoded, it would be another user, or an empty password.
  @Test(arguments: ["http://me:%FF@a/", "http://%FF:x@a/", "http://%FF@a/"])
  func urlUserThatIsNotUTF8IsAnError(_ url: String) throws {
    let request = try request(url)
    let error = #expect(throws: URLError.self) { try HopRequest(request, session: try session()) }
    #expect(error?.code == .badURL)
    #expect(request.url?.withoutCredentials.absoluteString == "http://a/")
    let target = try #require(URL(string: "http://a/b"))
    #expect(request.url.map { target.inheritingCredentials(of: $0) } == target)
    let source = try #require(URL(string: "http://me:x@a/"))
    #expect(request.url?.inheritingCredentials(of: source) == request.url)
  }

  @Test(arguments: [("X-Bad", "a\r\nX-Evil: b", InvalidHeaderError.Reason.invalidValue), ("X Bad", "a", .invalidName)])
  func invalidSessionFieldIsAnError(
    _ name: String, _ value: String, _ reason: InvalidHeaderError.Reason
  ) throws {
    let session = try session([name: value])
    #expect(throws: InvalidHeaderError(field: name, reason: reason)) {
      try HopRequest(try request("http://a/"), session: session)
    }
  }

  @Test func identityReflectsCredentials() throws {
    func identity(
      _ url: String = "http://a/", _ own: [String: String] = [:], _ session: SessionSettings? = nil
    ) throws -> RequestIdentity {
      guard let session else { return HopRequest(try request(url, own)).identity }
      return try HopRequest(try request(url, own), session: session).identity
    }
    let nobody = try identity()
    #expect(try nobody == identity("http://b/other", ["Accept": "x", "User-Agent": "u", "X-Request-ID": "1"]))
    let somebody = try [
      identity("http://a/", ["Authorization": "anna"]), identity("http://a/", ["Authorization": "berta"]),
      identity("http://a/", ["Cookie": "u=anna"]), identity("http://a/", ["X-Tenant": "1"]),
      identity("http://anna:x@a/"), identity("http://a/", [:], session(["Authorization": "claire"])),
      identity("http://a/", [:], session(cookies: ["u": "dora"])),
      identity("http://a/", [:], session(owner: "1")), identity("http://a/", [:], session(owner: "2")),
    ]
    #expect(Set(somebody + [nobody]).count == somebody.count + 1)
    // Regardless of where a field comes from.
    #expect(
      try identity("http://a/", ["authorization": "claire"], session())
        == identity("http://a/", [:], session(["Authorization": "claire"])))
    #expect(
      try identity("http://a/", ["Cookie": "u=dora"], session())
        == identity("http://a/", [:], session(cookies: ["u": "dora"]))
    )
    #expect(!"\(somebody)".contains("anna"))
    // Cookies that the system sends count as well.
    let system = try session(cookies: ["u": "dora"], systemSendsCookies: true)
    #expect(try HopRequest(try request("http://a/"), session: system).addedFields == [])
    #expect(try identity("http://a/", [:], system) == identity("http://a/", [:], session(cookies: ["u": "dora"])))
  }

  /// The files of a certificate may be replaced, and the system's cookies change, while a request is in progress.
  @Test func identityIsThatOfTheTimeOfSending() throws {
    let certificate = Locked(FileStamp(inode: 1))
    let configuration = URLSessionConfiguration.ephemeral
    let file = URL(fileURLWithPath: "/a")
    let session = SessionSettings(
      configuration, systemSendsCookies: true,
      options: .init(tls: TLSOptions(clientCertificate: .init(certificateFile: file, keyFile: file))),
      fileVersion: { _ in certificate.withLock { $0 } })
    func set(_ cookie: String) throws {
      let properties: [HTTPCookiePropertyKey: Any] = [.name: "u", .value: cookie, .domain: "a", .path: "/"]
      configuration.httpCookieStorage?.setCookie(try #require(HTTPCookie(properties: properties)))
    }
    try set("anna")
    let hop = try HopRequest(try request("http://a/"), session: session)
    let replaced = hop.replaced(by: hop.sent, session: session)
    for hop in [hop, replaced] {
      #expect(hop.isOfCurrentUser)
      let (key, fields, identity, connection) = (CacheKey(hop).text, hop.sentFields, hop.identity, hop.connection)
      #expect(fields == ["Cookie": "u=anna"])
      #expect(CacheKey(responseTo: hop)?.text == key)
      for change in [{ certificate.withLock { $0.inode = 2 } }, { try set("berta") }] {
        try change()
        #expect(CacheKey(hop).text == key && hop.sentFields == fields)
        #expect(hop.identity == identity && hop.connection == connection)
        // The response itself may have changed the cookies.
        let isOfCurrentUser = certificate.withLock { $0.inode } == 1
        #expect(hop.isOfCurrentUser == isOfCurrentUser)
        #expect(CacheKey(responseTo: hop)?.text == (isOfCurrentUser ? key : nil))
        certificate.withLock { $0.inode = 1 }
        try set("anna")
      }
    }
    certificate.withLock { $0.inode = 2 }
    #expect(hop.replaced(by: hop.sent, session: session).isOfCurrentUser)
  }

  @Test(arguments: [
    ("http://a/x", "http://A:80/y", true), ("https://a", "https://a:443/", true), ("ws://a/", "http://a/", true),
    ("wss://a/", "https://a:443/", true), ("http://a/", "http://a:81/", false), ("http://a/", "https://a/", false),
    ("http://a:443/", "https://a/", false), ("http://a/", "http://a./", false), ("http://a/", "http://sub.a/", false),
  ])
  func origins(_ first: String, _ second: String, _ isSame: Bool) throws {
    let first = try #require(URL(string: first))
    let second = try #require(URL(string: second))
    #expect(Origin(first) != nil)
    #expect((Origin(first) == Origin(second)) == isSame)
  }
}
