import Foundation

/// Options for the connections of a session's requests, where the platform's defaults do not fit. They apply to every
/// request of the session, redirects included, and its connections are shared only with sessions that have the same.
///
/// Only ``tls`` applies on Apple's platforms: there, `URLSession` chooses the version of HTTP, cannot connect to a socket,
/// has no limit for connecting, takes proxies from the `connectionProxyDictionary` of its configuration, and looks up names
/// as the system does. A request with another option is not sent, and fails with
/// `URLError.resourceUnavailable`, as it does on Linux if libcurl cannot be used.
public struct ConnectionOptions: Sendable, Hashable {
  /// The version of HTTP that is spoken.
  public enum HTTPVersion: Sendable, Hashable {
    /// HTTP/2 or HTTP/1.1 with TLS, as the server chooses (RFC 7301); HTTP/1.1 without.
    case automatic
    /// HTTP/1.1 (RFC 9112).
    case http1
    /// HTTP/2 (RFC 9113): without TLS with prior knowledge that the server speaks it (§3.3). A server that does not speak it
    /// fails the request with `URLError.badServerResponse`, or `URLError.networkConnectionLost` if it only closes the
    /// connection. Where it cannot be spoken, without libnghttp2,
    /// without OpenSSL for an `https` URL, or to a proxy, a request is not sent, and fails with
    /// `URLError.resourceUnavailable`.
    case http2
  }

  /// Which servers to trust, and how to identify the client. Defaults to `nil`: the system's authorities, any key, and no
  /// client certificate.
  public var tls: TLSOptions?
  /// The version of HTTP. Defaults to ``HTTPVersion/automatic``.
  public var httpVersion: HTTPVersion
  /// The path of the Unix domain socket to connect to, whatever the hosts of the URLs: these are only sent to the server.
  /// No proxy is used. On Linux, `@` and a name stand for an abstract socket (unix(7)). A path that is empty, contains a
  /// NUL, or has more than 107 bytes fails each request with `URLError.badURL`. Defaults to `nil`: to the host of the URL.
  ///
  /// Responses are cached apart from those of the hosts themselves. Cookies are not: use a session without a cookie
  /// storage if the name of a host stands for different servers.
  public var socketPath: String?
  /// How long a connection may take to open, with the lookup of the name, all its addresses, a proxy and TLS. Beyond it,
  /// the requests that wait for it fail with `URLError.cannotConnectToHost`: nothing of them was sent. Defaults to `nil`:
  /// only their own timeouts apply.
  public var connectTimeout: Duration?
  /// The proxy. Responses, and the parts of downloads and uploads, are kept apart from those of other proxies, but not if
  /// the environment names the proxy or ``Proxy/choosing(_:)`` chooses it. Defaults to ``Proxy/automatic``.
  public var proxy: Proxy
  /// The addresses (IPv4 or IPv6) of names, which are then not looked up: they are tried until one is connected. While
  /// one is silent, the next is tried after 200 ms; with older versions of libcurl, such as 8.14, that holds for the
  /// first of the other family, and the next of the same one is tried after about two thirds of the time that the
  /// request may wait for the connection, but not within a second. They are connected to without a proxy, and the server
  /// still has to identify itself by the name in TLS. Redirects to such a name lead there, too. Responses are cached apart
  /// from those of sessions without. A name or an address that is not valid fails each request with `URLError.badURL`.
  /// Defaults to none.
  public var addresses: [String: [String]]
  /// The network interface, such as `eth1`, or the address of one, that connections leave from. One that the machine does
  /// not have fails each request with `URLError.cannotConnectToHost`. Unix domain sockets have none. Responses are cached
  /// apart from those of other interfaces. Defaults to `nil`: the system chooses it.
  public var interface: String?
  /// The `https` URL of a server that looks up the names instead of the system (DNS over HTTPS, RFC 8484). It is
  /// verified by the authorities of ``tls``, and asked without ``proxy`` and ``interface``; an address as its host needs
  /// no lookup of its own. Names that a proxy looks up are not asked for. If it does not know a name, or cannot be
  /// reached, requests fail with `URLError.cannotFindHost`; the system is not asked instead. Responses are cached apart
  /// from those of sessions with another one or none. Other URLs fail each request with `URLError.badURL`, and a libcurl
  /// without it with ``TransportOptionError``. Defaults to `nil`.
  public var dnsOverHTTPS: URL?

  /// Creates options in which parameters that are left out keep their defaults.
  public init(
    tls: TLSOptions? = nil, httpVersion: HTTPVersion = .automatic, socketPath: String? = nil,
    connectTimeout: Duration? = nil, proxy: Proxy = .automatic, addresses: [String: [String]] = [:],
    interface: String? = nil, dnsOverHTTPS: URL? = nil
  ) {
    self.tls = tls
    self.httpVersion = httpVersion
    self.socketPath = socketPath
    self.connectTimeout = connectTimeout
    self.proxy = proxy
    self.addresses = addresses
    self.interface = interface
    self.dnsOverHTTPS = dnsOverHTTPS
  }
}

/// Where connections lead, apart from what the URLs of requests say, and where they leave from.
struct ConnectionRoute: Sendable, Hashable {
  /// The path of the Unix domain socket that stands for every host; `nil` for the hosts themselves.
  var socketPath: String?
  /// The addresses of names in lower case.
  var addresses: [String: [String]] = [:]
  var interface: String?
  var dnsOverHTTPS: URL?

  /// Returns whether there can be no proxy on the way to a host.
  func isDirect(to host: String) -> Bool { socketPath != nil || addresses(of: host) != nil }

  /// Returns the addresses that were given for a host.
  func addresses(of host: String) -> [String]? { addresses.isEmpty ? nil : addresses[host.lowercased()] }

  /// Whether names are looked up in another way than by others.
  var hasOwnNames: Bool { !addresses.isEmpty || dnsOverHTTPS != nil }

  /// Takes over what is not set here.
  mutating func inherit(_ other: ConnectionRoute) {
    socketPath = socketPath ?? other.socketPath
    addresses.merge(other.addresses) { own, _ in own }
    interface = interface ?? other.interface
    dnsOverHTTPS = dnsOverHTTPS ?? other.dnsOverHTTPS
  }

  /// Why it leads nowhere; `nil` if it may lead somewhere.
  var problem: URLError? {
    if let problem = ConnectionOptions.problem(withSocketPath: socketPath) { return problem }
    // A sign before a name means something to libcurl.
    let areNames = addresses.keys.allSatisfy {
      $0.first != "+" && $0.first != "-" && HostSyntax.isValid($0) && !HostSyntax.isAddress($0)
        && $0.utf8.allSatisfy { $0 < 0x80 }
    }
    let areAddresses = addresses.values.allSatisfy { addresses in
      !addresses.isEmpty && addresses.allSatisfy { HostSyntax.address($0) != nil }
    }
    if !areNames || !areAddresses {
      return URLError(.badURL, url: nil, description: "A name in the connection options, or its address, is not valid")
    }
    if let interface, !Self.isInterface(interface) {
      return URLError(.badURL, url: nil, description: "The name of the network interface is not valid")
    }
    if let url = dnsOverHTTPS, url.scheme?.lowercased() != "https" || Origin(url) == nil {
      return URLError(.badURL, url: nil, description: "DNS over HTTPS needs an https URL")
    }
    return nil
  }

  /// netdevice(7): 15 bytes at most; and neither a slash nor blanks.
  private static func isInterface(_ text: String) -> Bool {
    if HostSyntax.address(text) != nil { return true }
    return (1...15).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != 0x2F }
  }
}

extension ConnectionOptions {
  var route: ConnectionRoute {
    ConnectionRoute(
      socketPath: socketPath,
      addresses: addresses.isEmpty
        ? [:] : Dictionary(addresses.map { ($0.key.lowercased(), $0.value) }) { $0 + $1 },
      interface: interface, dnsOverHTTPS: dnsOverHTTPS)
  }

  /// The longest path of a socket, which ends with a NUL (unix(7)).
  private static let maximumPathLength = 107

  /// Why a socket's path cannot be one; `nil` if it can, or if there is none.
  static func problem(withSocketPath path: String?) -> URLError? {
    guard let path else { return nil }
    let isValid = !path.isEmpty && path.utf8.count <= maximumPathLength && !path.utf8.contains(0)
    return isValid ? nil : URLError(.badURL, url: nil, description: "The path of the socket is not valid")
  }
}

extension ConnectionOptions {
  /// Through which proxy a session's requests go, and its WebSockets where they say nothing else.
  ///
  /// A proxy of HTTP forwards requests for `http` URLs (RFC 9112 §3.2.2), and opens a tunnel for the others with `CONNECT`
  /// (RFC 9110 §9.3.6). Its credentials (RFC 7617) are sent to no one else. A host or port that is none fails each request
  /// with `URLError.badURL`.
  public struct Proxy: Sendable, Hashable {
    enum Choice: Sendable, Hashable {
      case automatic
      case environment
      case fixed(SessionProxies)
    }

    let choice: Choice

    /// The proxies in the `connectionProxyDictionary` of the session's configuration; those of ``environment`` if it has
    /// none.
    public static let automatic = Proxy(choice: .automatic)
    /// The proxies that the environment names, as curl reads them: `http_proxy`, `https_proxy`, `all_proxy`, except for the
    /// hosts in `no_proxy`.
    public static let environment = Proxy(choice: .environment)
    /// No proxy, whatever the environment and the session's configuration say.
    public static let none = Proxy(choice: .fixed(SessionProxies([:])))

    /// A proxy of HTTP.
    ///
    /// - Parameters:
    ///   - host: Its name or address.
    ///   - port: Its port.
    ///   - user: The name of the user. Defaults to `nil`: no credentials are sent.
    ///   - password: The user's password. Defaults to `nil`, which is an empty one if there is a user.
    public static func http(host: String, port: Int, user: String? = nil, password: String? = nil) -> Proxy {
      Proxy(choice: .fixed(SessionProxies(scheme: "http", host: host, port: port, user: user, password: password)))
    }

    /// A proxy of SOCKS 5 (RFC 1928, RFC 1929), which looks up the names of hosts.
    ///
    /// - Parameters:
    ///   - host: Its name or address.
    ///   - port: Its port. Defaults to 1080.
    ///   - user: The name of the user. Defaults to `nil`: no credentials are sent.
    ///   - password: The user's password. Defaults to `nil`, which is an empty one if there is a user.
    public static func socks5(host: String, port: Int = 1080, user: String? = nil, password: String? = nil) -> Proxy {
      Proxy(choice: .fixed(SessionProxies(scheme: "socks5h", host: host, port: port, user: user, password: password)))
    }

    /// The proxy that a closure chooses for each request, redirects included.
    ///
    /// - Parameter choose: Returns the proxy for the origin of a request, a URL with its port and without path and query. It is
    ///   called often, by any thread, and must not block. ``automatic`` and the result of this method mean ``environment`` here.
    public static func choosing(_ choose: @escaping @Sendable (_ origin: URL) -> Proxy) -> Proxy {
      Proxy(choice: .fixed(SessionProxies(chooser: ProxyChooser(choose))))
    }

    /// The proxies; `nil` for those of the environment.
    ///
    /// - Parameter configured: Those of the session's configuration.
    func proxies(configured: SessionProxies?) -> SessionProxies? {
      switch choice {
      case .automatic: configured
      case .environment: nil
      case .fixed(let proxies): proxies
      }
    }
  }
}

/// A closure that chooses a proxy. A class, because a closure has no identity of its own.
final class ProxyChooser: Sendable, Hashable {
  private let choose: @Sendable (URL) -> ConnectionOptions.Proxy

  init(_ choose: @escaping @Sendable (URL) -> ConnectionOptions.Proxy) { self.choose = choose }

  /// Returns the chosen proxy; `nil` for those of the environment.
  func proxies(for origin: URL) -> SessionProxies? {
    let chosen = choose(origin).proxies(configured: nil)
    return chosen?.chooser == nil ? chosen : nil
  }

  static func == (one: ProxyChooser, other: ProxyChooser) -> Bool { one === other }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The proxies of a session's `connectionProxyDictionary`, by the keys that CFNetwork documents (`HTTPEnable`,
/// `HTTPProxy`, `HTTPPort`, the same for `HTTPS` and `SOCKS`, `ExceptionsList`, `kCFProxyUsernameKey`,
/// `kCFProxyPasswordKey`).
///
/// A session with a dictionary uses only the proxies in it: an empty one means no proxy.
struct SessionProxies: Sendable, Hashable, Redacted {
  /// The proxy for `http` URLs, as a URL without credentials.
  let plain: String?
  /// The proxy for `https` URLs, which are tunnelled through it with `CONNECT` (RFC 9110 §9.3.6).
  let secure: String?
  /// The hosts that are connected to directly: names, `.suffix`, addresses, separated by commas.
  let exceptions: String
  let user: String?
  let password: String?
  /// Chooses others for each request.
  let chooser: ProxyChooser?
  /// Whether the proxy has no host or port that could be one.
  let isInvalid: Bool

  /// Creates proxies of which one is for all hosts.
  init(scheme: String, host: String, port: Int, user: String?, password: String?) {
    let host = HostSyntax.unbracketed(host)
    // RFC 3986 §3.2.2.
    let url = "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    (plain, secure, exceptions) = (url, url, "")
    self.user = user
    self.password = password
    chooser = nil
    isInvalid = !HostSyntax.isValid(host) || !(1...65_535).contains(port)
  }

  init(chooser: ProxyChooser) {
    (plain, secure, exceptions, user, password) = (nil, nil, "", nil, nil)
    self.chooser = chooser
    isInvalid = false
  }

  init(_ dictionary: [AnyHashable: Any]) {
    func text(_ key: String) -> String? {
      (dictionary[key] as? String).flatMap { $0.isEmpty ? nil : $0 }
    }
    func number(_ key: String) -> Int? {
      switch dictionary[key] {
      case let number as Int: number
      case let flag as Bool: flag ? 1 : 0
      case let number as NSNumber: number.intValue
      default: nil
      }
    }
    func proxy(_ kind: String, scheme: String, defaultPort: Int) -> String? {
      guard let enabled = number("\(kind)Enable"), enabled != 0, let host = text("\(kind)Proxy") else { return nil }
      let port = number("\(kind)Port").flatMap { (1...65_535).contains($0) ? $0 : nil } ?? defaultPort
      // RFC 3986 §3.2.2.
      let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
      return "\(scheme)://\(literal):\(port)"
    }
    // The proxy resolves host names: those behind it may not be resolvable here.
    let socks = proxy("SOCKS", scheme: "socks5h", defaultPort: 1080)
    plain = proxy("HTTP", scheme: "http", defaultPort: 80) ?? socks
    secure = proxy("HTTPS", scheme: "http", defaultPort: 443) ?? socks
    exceptions = (dictionary["ExceptionsList"] as? [String] ?? [])
      .map { $0.hasPrefix("*.") ? String($0.dropFirst()) : $0 }
      .joined(separator: ",")
    chooser = nil
    isInvalid = false
    user = text("kCFProxyUsernameKey")
    password = text("kCFProxyPasswordKey")
  }

  var redacted: String { "\([plain, secure].compactMap(\.self))" }
}
