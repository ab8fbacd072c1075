import Foundation

#if canImport(Darwin)
  import Network
#endif

/// A client that connects to a socket and sends commands.
public protocol PrismNetworkSocketClient: Sendable {
  /// Connects to an endpoint; the stream contains the received frames and ends with the connection.
  func connect(to endpoint: any PrismNetworkSocketEndpoint) async throws -> AsyncStream<Data>
  /// Sends a command over the connection.
  ///
  /// - Throws: ``PrismNetworkError/noConnectivity`` without one.
  func send(command: any PrismNetworkSocketCommand) async throws
}

extension PrismNetworkSocketClient {
  /// Connects to the endpoint of a request.
  ///
  /// - Throws: ``PrismNetworkError/invalidURL`` if it has none.
  public func connect(
    with request: any PrismNetworkSocketRequest
  ) async throws -> AsyncStream<Data> {
    guard let endpoint = request.endpoint else { throw PrismNetworkError.invalidURL }
    return try await connect(to: endpoint)
  }
}

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

/// A request for a connection.
public protocol PrismNetworkSocketRequest: Sendable {
  /// The endpoint to connect to; without one, ``PrismNetworkSocketClient/connect(with:)`` throws
  /// ``PrismNetworkError/invalidURL``.
  var endpoint: (any PrismNetworkSocketEndpoint)? { get }
}

/// A command that is sent over a socket, as one line.
public protocol PrismNetworkSocketCommand: Sendable {
  /// The text. A newline is appended unless its bytes end in one.
  var message: String { get }
}
