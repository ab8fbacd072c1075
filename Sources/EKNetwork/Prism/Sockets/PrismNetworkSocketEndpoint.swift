#if canImport(Darwin)
  import Network
#endif

/// Where a socket connects to, and how.
///
/// Parameters with WebSocket options speak WebSocket; without them lines travel over plain TCP, or TLS.
public protocol PrismNetworkSocketEndpoint: Sendable {
  /// The server's name or address.
  var host: NWEndpoint.Host { get }
  /// The server's port.
  var port: NWEndpoint.Port { get throws }
  /// TLS and WebSocket, or not.
  var parameters: NWParameters { get }
  /// The path, and query, of a WebSocket. Defaults to `/`.
  var path: String { get }
  /// Header fields of a WebSocket's handshake. Defaults to none.
  var headers: [String: String] { get }
  /// Subprotocols of a WebSocket, the preferred first. Defaults to none.
  var subprotocols: [String] { get }
}

extension PrismNetworkSocketEndpoint {
  /// The root.
  public var path: String { "/" }
  /// No fields.
  public var headers: [String: String] { [:] }
  /// No subprotocols.
  public var subprotocols: [String] { [] }
}
