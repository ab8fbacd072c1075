import Foundation

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
