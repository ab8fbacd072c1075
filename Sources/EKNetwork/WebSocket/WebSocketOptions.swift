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
  /// How many messages wait for their reader before nothing more is read from the connection. Defaults to 16.
  public var maximumQueuedMessages = 16
  /// How long opening may take, the handshake included. Defaults to 30 seconds.
  public var connectTimeout: Duration = .seconds(30)
  /// How long the peer may take to answer a close frame. Defaults to 5 seconds.
  public var closeTimeout: Duration = .seconds(5)
  /// How often a silent peer is pinged; `nil`, the default, for never. One that is silent through the interval after
  /// a ping as well has the connection ended with ``WebSocketError/timedOut``.
  public var keepAliveInterval: Duration?
  /// Where the handshake's cookies come from and go to; `nil`, the default, for no cookies.
  public var cookieStorage: HTTPCookieStorage?
  /// A PEM file of certificate authorities instead of the system's, for tests on Linux.
  var authorityFile: String?
  #if canImport(Darwin)
    /// Whom to trust over TLS, as ``TransportChoice/secured(by:)`` says it for requests. Defaults to `nil`: whom the
    /// system trusts. With a client certificate the connection fails: show it by the parameters of a socket endpoint.
    public var tls: TLSOptions?
    /// What the connection is made with; `nil` for the system's defaults.
    var parameters: SocketParameters?
  #endif
  /// What measures the times.
  var clock: any Clock<Duration> = ContinuousClock()

  /// The defaults.
  public init() {}

  /// The defaults, with a ``keepAliveInterval`` of 30 seconds.
  public static var keptAlive: WebSocketOptions {
    var options = WebSocketOptions()
    options.keepAliveInterval = .seconds(30)
    return options
  }
}
