#if canImport(Darwin)
  import Network
#endif

/// The endpoint of a socket: its address, and the protocols of the connection.
///
/// Parameters with WebSocket options select WebSocket; without them, lines are sent over plain TCP or TLS.
public protocol PrismNetworkSocketEndpoint: Sendable {
  /// The name or address of the server.
  var host: NWEndpoint.Host { get }
  /// The port of the server.
  var port: NWEndpoint.Port { get throws }
  /// The parameters of the connection: whether it uses TLS and WebSocket.
  var parameters: NWParameters { get }
  /// The path and query of a WebSocket's URL. Defaults to `/`.
  var path: String { get }
  /// The header fields of a WebSocket's handshake. Defaults to none.
  var headers: [String: String] { get }
  /// The subprotocols of a WebSocket, in order of preference. Defaults to none.
  var subprotocols: [String] { get }
}

extension PrismNetworkSocketEndpoint {
  /// The root path.
  public var path: String { "/" }
  /// No header fields.
  public var headers: [String: String] { [:] }
  /// No subprotocols.
  public var subprotocols: [String] { [] }
}
