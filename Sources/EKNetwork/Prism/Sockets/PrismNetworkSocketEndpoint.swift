#if canImport(Darwin)
  import Network
#endif

/// The endpoint of a socket: its address, and the protocols of the connection.
///
/// Parameters with WebSocket options select WebSocket; without them, lines are sent over plain TCP or TLS.
public protocol PrismNetworkSocketEndpoint: PrismLogger, Sendable {
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

  /// Writes the address and the names of the header fields to the log. The values of header fields and query items are
  /// left out, because they may be secret.
  public func log() {
    let address = (try? SocketDestination(self))?.redactedForLog
    DeveloperLog.write("SOCKET", address ?? "<invalid address>", fields: headers)
  }
}
