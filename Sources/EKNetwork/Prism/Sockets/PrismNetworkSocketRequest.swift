/// A request for a connection.
public protocol PrismNetworkSocketRequest {
  /// Where to connect to; without one ``PrismNetworkSocketClient/connect(with:)`` throws
  /// ``PrismNetworkError/invalidURL``.
  var endpoint: (any PrismNetworkSocketEndpoint)? { get }
}
