/// A request for a connection.
public protocol PrismNetworkSocketRequest: Sendable {
  /// The endpoint to connect to; without one, ``PrismNetworkSocketClient/connect(with:)`` throws
  /// ``PrismNetworkError/invalidURL``.
  var endpoint: (any PrismNetworkSocketEndpoint)? { get }
}
