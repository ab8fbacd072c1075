import Foundation

/// Options of a ``WebSocket``. The defaults suit most uses.
public struct WebSocketOptions: Sendable {
  /// The compression to offer; `nil` for none.
  public var compression: WebSocketCompression? = WebSocketCompression()
  /// The maximum size of a received message in bytes, after decompression. Defaults to 64 MiB. A larger message closes
  /// the connection with ``WebSocketCloseCode/messageTooBig``; a negative number counts as 0.
  public var maximumMessageSize = 64 << 20
  /// The maximum number of received messages that wait to be read. Behind them up to 256 KiB are still received and
  /// buffered, so that the library can respond to pings; beyond that the peer is slowed down. At least one. Defaults
  /// to 16.
  public var maximumQueuedMessages = 16
  /// The timeout for opening the connection, including the handshake; with zero or less it expires at once. Defaults to the
  /// `timeoutInterval` of the `URLRequest` that is connected to, if that is not the 60 seconds of every new one, otherwise
  /// to 30 seconds.
  public var connectTimeout: Duration {
    get { ownConnectTimeout ?? Self.defaultConnectTimeout }
    set { ownConnectTimeout = newValue }
  }
  /// The timeout for the peer's response to a close frame. Defaults to 5 seconds.
  public var closeTimeout: Duration = .seconds(5)
  /// The interval at which the peer is checked, at least 10 milliseconds; `nil`, the default, for never. A peer that
  /// was silent for a whole interval is pinged. If it is silent for another one, the connection ends with
  /// ``WebSocketError/timedOut``: two to three intervals after it was last heard, or three after it was opened.
  public var keepAliveInterval: Duration?
  /// The maximum total size in bytes of received messages that wait to be read, as ``maximumQueuedMessages`` limits
  /// their number. A single message may be larger: with zero or less, one at a time waits. Defaults to 4 MiB.
  public var maximumQueuedBytes = 4 << 20
  /// The cookie storage that the handshake uses; `nil`, the default, for no cookies.
  public var cookieStorage: HTTPCookieStorage?
  /// The TLS options, as ``TransportChoice/secured(by:)`` sets them for requests. Defaults to `nil`: the system's
  /// certificate authorities, any key, no client certificate. An option that cannot be honoured fails the connection:
  /// on Linux one that the installed libcurl does not support, on Apple platforms a client certificate, which the
  /// parameters of a socket endpoint can provide instead.
  public var tls: TLSOptions?
  /// The path of the Unix domain socket to connect to instead of the URL's host, as ``ConnectionOptions/socketPath``: on
  /// Apple's platforms, too, except for an abstract one. Defaults to `nil`.
  public var socketPath: String? {
    get { route.socketPath }
    set { route.socketPath = newValue }
  }
  /// A closure that is called with the response of a server that refuses the handshake, before
  /// ``WebSocketError/refused(status:headers:)`` is thrown: the fields of its head in order, and up to the first KiB of its
  /// body, for which at most half a second is waited. It is called on any thread. Defaults to `nil`: the body is not read.
  public var onRefusal: (@Sendable (NetworkResponse) -> Void)?
  private static let defaultConnectTimeout = Duration.seconds(30)
  private var ownConnectTimeout: Duration?
  private(set) var route = ConnectionRoute()
  /// The proxies; `nil` for those of the platform, which on Linux come from the environment.
  private(set) var proxies: SessionProxies?
  #if canImport(Darwin)
    var parameters: SocketParameters?
  #endif
  var clock: any Clock<Duration> = ContinuousClock()

  /// Creates options with the default values.
  public init() {}

  #if os(Linux)
    /// Uses the proxies in the `connectionProxyDictionary` of a session's configuration, as the session's requests do
    /// on Linux: the `http` proxy for a `ws` URL and the `https` proxy for a `wss` URL, both by `CONNECT` (RFC 6455
    /// §4.1), or through SOCKS. A configuration without a dictionary leaves the choice to the platform.
    public mutating func useProxies(of configuration: URLSessionConfiguration) {
      proxies = configuration.connectionProxyDictionary.map { SessionProxies($0) }
    }

    /// Connects as requests with these options do: over their TLS, socket, proxy, addresses, interface and DNS. Their
    /// version of HTTP and their limit for connecting have counterparts of their own here. A ``ConnectionOptions/Proxy``
    /// that is automatic leaves the proxies as they are.
    public mutating func useConnectionOptions(_ options: ConnectionOptions) {
      tls = options.tls
      route = options.route
      if options.proxy != .automatic { proxies = options.proxy.proxies(configured: nil) }
    }
  #endif

  /// Takes over whom a session trusts, its proxies and its route, as far as they are not set here.
  ///
  /// - Throws: The reason why only the session itself can decide whom to trust.
  mutating func inherit(_ settings: ConnectionSettings) throws {
    proxies = proxies ?? settings.proxies
    route.inherit(settings.route)
    guard tls == nil else { return }
    switch settings.trust {
    case .system: break
    case .options(let options): tls = options
    case .unavailable(let error): throw error
    }
  }

  /// Takes over the timeout of a request, unless one is set here. As for requests over HTTP, one that is not positive and
  /// finite is no limit.
  mutating func inheritTimeout(of request: HTTPRequest) {
    guard ownConnectTimeout == nil else { return }
    connectTimeout = request.idleTimeout(default: connectTimeout.timeInterval) ?? .seconds(Int64.max)
  }

  /// Keeps the response of a server that refuses the handshake, and passes it to the closure of the options.
  mutating func keepRefusal(in kept: Locked<NetworkResponse?>) {
    onRefusal = { [onRefusal] response in
      kept.withLock { $0 = response }
      onRefusal?(response)
    }
  }

  /// The default options with a ``keepAliveInterval`` of 30 seconds.
  public static var keptAlive: WebSocketOptions {
    var options = WebSocketOptions()
    options.keepAliveInterval = .seconds(30)
    return options
  }
}

/// The parameters of message compression (permessage-deflate, RFC 7692) that a client offers.
public struct WebSocketCompression: Sendable, Equatable {
  /// Whether the client may keep its compression context between messages. `false` needs less memory.
  public var clientContextTakeover: Bool
  /// Whether the server may keep its compression context between messages.
  public var serverContextTakeover: Bool
  /// The base-2 logarithm of the client's compression window; the server may request a smaller one. Other numbers
  /// than 9 to 15 become the nearest of them.
  public var clientMaxWindowBits: Int { didSet { clientMaxWindowBits = min(max(clientMaxWindowBits, 9), 15) } }
  /// The base-2 logarithm of the server's compression window; 15 leaves the choice to the server. Other numbers than
  /// 8 to 15 become the nearest of them.
  public var serverMaxWindowBits: Int { didSet { serverMaxWindowBits = min(max(serverMaxWindowBits, 8), 15) } }
  /// The size in bytes from which messages are compressed; shorter ones are sent uncompressed.
  public var minimumSize: Int

  /// Creates an offer. By default, both contexts are kept, the windows are as large as possible and every message is
  /// compressed.
  public init(
    clientContextTakeover: Bool = true, serverContextTakeover: Bool = true, clientMaxWindowBits: Int = 15,
    serverMaxWindowBits: Int = 15, minimumSize: Int = 0
  ) {
    self.clientContextTakeover = clientContextTakeover
    self.serverContextTakeover = serverContextTakeover
    self.clientMaxWindowBits = min(max(clientMaxWindowBits, 9), 15)
    self.serverMaxWindowBits = min(max(serverMaxWindowBits, 8), 15)
    self.minimumSize = minimumSize
  }
}
