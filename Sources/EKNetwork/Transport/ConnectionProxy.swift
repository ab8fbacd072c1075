import Foundation

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
