import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Every kind of identity, crossed with everything that requests share.
struct RequestIdentityTests {
  /// What distinguishes one sender from another.
  enum Sender: String, CaseIterable, Sendable {
    case nobody, token, otherToken, user, apiKey, sessionField, cookie, storedCookie, systemCookie, delegate, middleware
    case certificate, authorities, otherAuthorities, pin, minimum, tenant, socket, otherSocket, version, proxy
    case addresses, otherAddresses, interface, dns, otherProxy, proxyUser, configuredProxy, noProxy, chosenProxy
    case virtualHost

    var hasCookiesOnly: Bool { [.cookie, .storedCookie, .systemCookie].contains(self) }
    /// Told apart by `Vary` alone in an HTTP cache (RFC 9111 §4.1).
    var isOrdinaryField: Bool { self == .tenant }
    /// Nobody over another connection.
    var isNobody: Bool { [.nobody, .version, .noProxy, .chosenProxy].contains(self) }
    /// A group of senders that trust the same servers, and reach them in the same way.
    var trust: Sender {
      switch self {
      case .authorities, .otherAuthorities, .pin, .minimum, .socket, .otherSocket, .addresses, .otherAddresses: self
      case .proxy, .otherProxy, .proxyUser, .configuredProxy, .interface, .dns, .virtualHost: self
      default: .nobody
      }
    }
    /// A group of senders that are the same to a connection, which carries everybody's fields.
    var connection: Sender {
      switch self {
      case .certificate, .version, .noProxy, .chosenProxy: self
      case .virtualHost: .nobody
      default: trust
      }
    }

    private static let chosen = ConnectionOptions.Proxy.choosing { _ in .none }

    var options: ConnectionOptions {
      switch self {
      case .socket, .otherSocket: ConnectionOptions(socketPath: "/\(rawValue)")
      case .version: ConnectionOptions(httpVersion: .http2)
      case .proxy: ConnectionOptions(proxy: .http(host: "proxy", port: 80))
      case .otherProxy: ConnectionOptions(proxy: .socks5(host: "proxy", port: 80))
      case .proxyUser: ConnectionOptions(proxy: .http(host: "proxy", port: 80, user: "me", password: "secret"))
      case .noProxy: ConnectionOptions(proxy: .none)
      case .chosenProxy: ConnectionOptions(proxy: Self.chosen)
      case .addresses: ConnectionOptions(addresses: ["a": ["127.0.0.1"]])
      case .otherAddresses: ConnectionOptions(addresses: ["a": ["127.0.0.2"]])
      case .interface: ConnectionOptions(interface: "lo")
      case .dns: ConnectionOptions(dnsOverHTTPS: URL(string: "https://dns.invalid"))
      default: ConnectionOptions(tls: tls)
      }
    }

    private var tls: TLSOptions? {
      let file = URL(fileURLWithPath: "/\(rawValue)")
      return switch self {
      case .certificate: TLSOptions(clientCertificate: .init(certificateFile: file, keyFile: file))
      case .authorities, .otherAuthorities: TLSOptions(certificateAuthorityFile: file)
      case .pin: TLSOptions(pinnedPublicKeys: ["pin"])
      case .minimum: TLSOptions(minimumVersion: .tls13)
      default: nil
      }
    }

    func session() throws -> SessionSettings {
      let configuration = URLSessionConfiguration.ephemeral
      if self == .configuredProxy {
        configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "proxy", "HTTPPort": 81]
      }
      if self == .sessionField { configuration.httpAdditionalHeaders = ["X-Auth-Token": "s"] }
      if self == .storedCookie || self == .systemCookie {
        let cookie = HTTPCookie(properties: [.name: "c", .value: rawValue, .domain: "a", .path: "/"])
        configuration.httpCookieStorage?.setCookie(try #require(cookie))
      }
      let settings = SessionSettings(
        configuration, systemSendsCookies: self == .systemCookie, options: options, fileVersion: { _ in FileStamp() })
      return self == .delegate || self == .middleware ? SessionSettings(settings, owner: rawValue) : settings
    }

    func request(_ url: String) throws -> URLRequest {
      var request = URLRequest(url: try #require(URL(string: url)))
      switch self {
      case .token, .otherToken: request.setValue("Bearer \(rawValue)", forHTTPHeaderField: "Authorization")
      case .user: request.url = URL(string: url.replacingOccurrences(of: "//", with: "//me:secret@"))
      case .apiKey: request.setValue("key", forHTTPHeaderField: "X-Api-Key")
      case .cookie: request.setValue("own=1", forHTTPHeaderField: "Cookie")
      case .tenant: request.setValue("1", forHTTPHeaderField: "X-Tenant")
      case .virtualHost: request.setValue("b.example", forHTTPHeaderField: "Host")
      default: break
      }
      return request
    }

    func hop() throws -> HopRequest { try HopRequest(try request("https://a/x"), session: try session()) }
  }

  /// What requests share, or what is kept for later ones.
  enum Shared: CaseIterable, Sendable {
    case connection, exchange, flight, policyCache, privateEntry, publicEntry

    /// Returns whether the response to one sender may be used for another.
    func isShared(_ one: Sender, _ other: Sender) -> Bool {
      switch self {
      case .connection: one.connection == other.connection
      case .exchange, .flight, .policyCache: one == other || one.isNobody && other.isNobody
      case .privateEntry:
        one.trust == other.trust
          && (one == other
            || (one.isNobody || one.isOrdinaryField)
              && (other.isNobody || other.isOrdinaryField || other.hasCookiesOnly))
      case .publicEntry: one.trust == other.trust
      }
    }

    func shares(_ one: HopRequest, _ other: HopRequest) throws -> Bool {
      switch self {
      case .connection: return one.connection == other.connection
      case .exchange: return exchange(one) == exchange(other)
      case .flight: return try flight(one) == flight(other)
      case .policyCache: return CacheKey(one).text == CacheKey(other).text
      case .privateEntry: return try serves(one, other, "max-age=60")
      case .publicEntry: return try serves(one, other, "public, max-age=60")
      }
    }

    private func exchange(_ hop: HopRequest) -> ExchangeKey? {
      ExchangeKey(hop, redirectPolicy: .follow, limits: ResponseLimits())
    }

    private func flight(_ hop: HopRequest) throws -> FlightKey {
      let request = TransportRequest(hop)
      let wire = UnavailableTransport(.cancelled, "")
      return FlightKey(request, CacheQuery(request), wire)
    }

    /// Returns whether a response to one sender is found for another.
    private func serves(_ one: HopRequest, _ other: HopRequest, _ control: String) throws -> Bool {
      let cache = HTTPCache(memoryCapacity: 100_000, now: { Date(timeIntervalSince1970: 1) })
      let (stored, asked) = (CacheQuery(TransportRequest(one)), CacheQuery(TransportRequest(other)))
      let time = Date(timeIntervalSince1970: 0)
      let fields = HeaderFieldList([("Cache-Control", control)])
      let response = StoredResponse(
        status: 200, reason: "", fields: fields, requestTime: time, responseTime: time,
        varying: VaryingFields(response: fields, request: stored.fields), identity: stored.identity)
      cache.store(response, .data(Data()), url: stored.key, since: 0)
      return cache.find(asked).entry != nil
    }
  }

  @Test(arguments: Sender.allCases, Shared.allCases)
  func sharesOnlyWhatIsTheSame(_ one: Sender, _ shared: Shared) throws {
    let hop = try one.hop()
    for other in Sender.allCases where one != .user && other != .user || shared != .flight {
      // URLs with a user are not those of others.
      if one == .user || other == .user, one != other, shared != .connection { continue }
      #expect(try shared.shares(hop, other.hop()) == shared.isShared(one, other), "\(one) \(other)")
    }
  }

  /// RFC 9110 §5.3: the order of different fields has no meaning.
  @Test(arguments: [Shared.exchange, .flight, .policyCache, .privateEntry])
  func orderOfFieldsDoesNotCount(_ shared: Shared) throws {
    let url = try #require(URL(string: "https://a/x"))
    let fields: HeaderFieldList = ["X-B": "1", "Authorization": "2", "X-A": "3"]
    let orders = [fields, HeaderFieldList(fields: fields.reversed())]
    let hops = orders.map { HopRequest(HTTPRequest(url: url, fields: $0)) }
    #expect(try shared.shares(hops[0], hops[1]))
  }

  /// RFC 9110 §15.4: nothing that names the sender goes to the origin that a redirect leads to, nor back.
  @Test(arguments: Sender.allCases, [["https://b/"], ["https://b/", "https://a/x"]])
  func credentialsDoNotFollowRedirects(_ sender: Sender, _ targets: [String]) throws {
    let session = try sender.session()
    var (hop, redirects) = (try sender.hop(), RedirectState(policy: .follow))
    for target in targets {
      let url = hop.own.url
      let head = try #require(
        ResponseHead.make(status: 307, reason: "", fields: HeaderFieldList([("Location", target)]), url: url))
      guard case .follow(let next) = redirects.received(head, for: hop, decision: .undecided) else {
        Issue.record("not followed")
        return
      }
      hop = try HopRequest(next, session: session, hasLeftOrigin: redirects.hasLeftOrigin, start: hop.own.url)
    }
    // Code decides whom it represents. A stored cookie names its own domain.
    if session.owner == nil { #expect(hop.identity.credentials == nil) }
    #expect(hop.connection?.certificate == nil)
    if targets.count == 1 { #expect(hop.identity.cookies == nil) }
    // A `Host` is for the origin of the URL.
    if sender == .virtualHost {
      #expect(hop.identity.trust == nil)
      return
    }
    // What is trusted does not depend on where the request goes.
    #expect(hop.identity.trust == (try sender.hop().identity.trust))
    #expect((hop.identity.trust != nil) == (sender.trust != .nobody))
  }

  @Test func identityRevealsNothing() throws {
    for sender in Sender.allCases {
      let text = "\(try sender.hop().identity)"
      for secret in ["Bearer", "secret", "key", "own=1", "pin"] { #expect(!text.contains(secret), "\(sender)") }
    }
  }

  /// That of the URL, in any case, is as none.
  @Test(arguments: [
    ("https://a/x", "A", true), ("https://a/x", "a:8443", false), ("http://a:81/", "a:81", true),
    ("http://a:81/", "a", false), ("http://[::1]/", "[::1]", true), ("http://[::1]/", "b", false),
  ])
  func ownHostIsAnotherServer(_ url: String, _ host: String, _ isSame: Bool) throws {
    func hop(_ host: String?) throws -> HopRequest {
      var request = URLRequest(url: try #require(URL(string: url)))
      request.setValue(host, forHTTPHeaderField: "Host")
      return try HopRequest(request, session: SessionSettings(.ephemeral))
    }
    #expect(try (hop(host).identity == hop(nil).identity) == isSame)
    #expect(try hop(host).identity == hop(host.lowercased()).identity)
    #expect(try hop(host).identity != hop("other").identity)
    let partial = try [host, "other"].map { RequestIdentity.ofRepresentation(try hop($0)) }
    #expect(partial[0] != partial[1])
  }

  /// Two files with the same authorities are the same trust; another content at the same path is not.
  @Test func trustIsThatOfTheAuthorities() throws {
    let folder = try ScratchFolder()
    func trust(_ name: String, _ content: String, _ pins: Set<String> = []) throws -> String? {
      let tls = TLSOptions(
        certificateAuthorityFile: try folder.file(name, Data(content.utf8)), pinnedPublicKeys: pins)
      let session = SessionSettings(.ephemeral, options: .init(tls: tls))
      return session.connection(to: nil, hasLeftOrigin: false).trust
    }
    #expect(try trust("a", "1") == trust("b", "1"))
    #expect(try Set([trust("a", "1"), trust("a", "2"), trust("a", "1", ["p"]), trust("a", "1", ["q"])]).count == 4)
    #expect(try trust("a", "1", ["p", "q"]) == trust("b", "1", ["q", "p"]))
    #expect(
      SessionSettings(.ephemeral, options: .init(tls: TLSOptions())).connection(to: nil, hasLeftOrigin: false).trust
        == nil)
  }
}
