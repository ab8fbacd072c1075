/// The scheme of an endpoint's URL.
public enum PrismNetworkScheme: String, CaseIterable, Sendable {
  /// Unencrypted HTTP.
  case http
  /// Encrypted HTTP.
  case https
  /// An unencrypted WebSocket.
  case ws
  /// An encrypted WebSocket.
  case wss
}
