import Foundation

/// Scheme, host and port (RFC 6454 §4): what credentials belong to. Compared as §5 has it.
struct Origin: Hashable, Sendable {
  let scheme: String
  let host: String
  let port: Int

  /// `nil` for a URL without a scheme or a host. The handshake of a WebSocket belongs to the origin of the `http` or
  /// `https` URL in its place (RFC 6455 §4.1).
  init?(_ url: URL) {
    guard let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased(), !host.isEmpty else { return nil }
    self.scheme =
      switch scheme {
      case "ws": "http"
      case "wss": "https"
      default: scheme
      }
    self.host = host
    port = url.port ?? (self.scheme == "https" ? 443 : 80)
  }
}
