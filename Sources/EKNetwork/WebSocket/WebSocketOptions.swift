import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How a ``WebSocket`` behaves. The defaults suit most.
public struct WebSocketOptions: Sendable {
  /// The compression that is offered; `nil` for none.
  public var compression: WebSocketCompression? = WebSocketCompression()
  /// The largest message that is taken, in bytes, after inflating. Defaults to 64 MiB. A larger one closes the
  /// connection with ``WebSocketCloseCode/messageTooBig``.
  public var maximumMessageSize = 64 << 20
  /// How many messages wait for their reader before no more are taken. What has come behind them, up to 256 KiB, is
  /// read and kept, so that pings are answered; beyond that the peer is slowed down. Defaults to 16.
  public var maximumQueuedMessages = 16
  /// How long opening may take, the handshake included. Defaults to 30 seconds.
  public var connectTimeout: Duration = .seconds(30)
  /// How long the peer may take to answer a close frame. Defaults to 5 seconds.
  public var closeTimeout: Duration = .seconds(5)
  /// How often a silent peer is pinged; `nil`, the default, for never. One that is silent through the interval after
  /// a ping as well has the connection ended with ``WebSocketError/timedOut``.
  public var keepAliveInterval: Duration?
  /// How many bytes of messages wait for their reader before no more are taken, as with ``maximumQueuedMessages``. One
  /// message alone may have more. Defaults to 4 MiB.
  public var maximumQueuedBytes = 4 << 20
  /// Where the handshake's cookies come from and go to; `nil`, the default, for no cookies.
  public var cookieStorage: HTTPCookieStorage?
  /// Which servers to trust over TLS, as ``TransportChoice/secured(by:)`` says it for requests. Defaults to `nil`: the system's
  /// authorities, any key, no client certificate. What cannot be honoured fails the connection: on Linux what this
  /// machine's libcurl cannot do, on Apple's platforms a client certificate, which the parameters of a socket endpoint
  /// show instead.
  public var tls: TLSOptions?
  /// The proxies; `nil` takes them from where the platform has them, on Linux from the environment.
  private(set) var proxies: SessionProxies?
  #if canImport(Darwin)
    /// What the connection is made with; `nil` for the system's defaults.
    var parameters: SocketParameters?
  #endif
  /// What measures the times.
  var clock: any Clock<Duration> = ContinuousClock()

  /// The defaults.
  public init() {}

  #if os(Linux)
    /// Goes through the proxies that a session's configuration names in its `connectionProxyDictionary`, as the
    /// session's requests do on Linux: a `ws` URL through the proxy for `http`, a `wss` URL through the one for `https`,
    /// both by `CONNECT` (RFC 6455 §4.1), or through SOCKS. A configuration without a dictionary leaves the choice to the
    /// platform.
    public mutating func useProxies(of configuration: URLSessionConfiguration) {
      proxies = configuration.connectionProxyDictionary.map { SessionProxies($0) }
    }
  #endif

  /// The defaults, with a ``keepAliveInterval`` of 30 seconds.
  public static var keptAlive: WebSocketOptions {
    var options = WebSocketOptions()
    options.keepAliveInterval = .seconds(30)
    return options
  }
}
