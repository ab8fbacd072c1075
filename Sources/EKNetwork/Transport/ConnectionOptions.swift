import Foundation

/// Options for the connections of a session's requests, where the platform's defaults do not fit. They apply to every
/// request of the session, redirects included, and its connections are shared only with sessions that have the same.
///
/// Only ``tls`` applies on Apple's platforms: there, `URLSession` chooses the version of HTTP, cannot connect to a socket,
/// has no limit for connecting, and takes proxies from the `connectionProxyDictionary` of its configuration. A request with another option is not sent, and fails with
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

  /// Creates options in which parameters that are left out keep their defaults.
  public init(
    tls: TLSOptions? = nil, httpVersion: HTTPVersion = .automatic, socketPath: String? = nil,
    connectTimeout: Duration? = nil, proxy: Proxy = .automatic
  ) {
    self.tls = tls
    self.httpVersion = httpVersion
    self.socketPath = socketPath
    self.connectTimeout = connectTimeout
    self.proxy = proxy
  }
}

extension ConnectionOptions {
  /// The longest path of a socket, which ends with a NUL (unix(7)).
  private static let maximumPathLength = 107

  /// Why a socket's path cannot be one; `nil` if it can, or if there is none.
  static func problem(withSocketPath path: String?) -> URLError? {
    guard let path else { return nil }
    let isValid = !path.isEmpty && path.utf8.count <= maximumPathLength && !path.utf8.contains(0)
    return isValid ? nil : URLError(.badURL, url: nil, description: "The path of the socket is not valid")
  }
}
