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
  /// The proxy. Defaults to ``Proxy/automatic``.
  public var proxy: Proxy
  /// The addresses (IPv4 or IPv6) of names, which are then not looked up: the fastest to connect to is used. They are
  /// connected to without a proxy, and the server still has to identify itself by the name in TLS. Redirects to such a
  /// name lead there, too. Responses are cached apart from those of sessions without. A name or an address that is not
  /// valid fails each request with `URLError.badURL`. Defaults to none.
  public var addresses: [String: [String]]
  /// The network interface, such as `eth1`, or the address of one, that connections leave from. One that the machine does
  /// not have fails each request with `URLError.cannotConnectToHost`. Unix domain sockets have none. Defaults to `nil`: the
  /// system chooses it.
  public var interface: String?
  /// The `https` URL of a server that looks up the names instead of the system (DNS over HTTPS, RFC 8484). It is
  /// verified by the authorities of ``tls``, and asked without ``proxy`` and ``interface``; an address as its host needs
  /// no lookup of its own. Names that a proxy looks up are not asked for. If it does not know a name, or cannot be
  /// reached, requests fail with `URLError.cannotFindHost`; the system is not asked instead. Other URLs fail each request
  /// with `URLError.badURL`, and a libcurl without it with ``TransportOptionError``. Defaults to `nil`.
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
