import Foundation

/// RFC 6454 §4: scheme, host and port.
struct Origin: Hashable, Sendable {
  let isSecure: Bool
  /// In lower case.
  let host: String
  let port: Int

  init(isSecure: Bool, host: String, port: Int?) {
    self.isSecure = isSecure
    self.host = host.lowercased()
    self.port = port ?? (isSecure ? 443 : 80)
  }
}
