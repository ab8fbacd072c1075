import Foundation

extension URL {
  /// The URL without the user and the password in it, which get into errors and files only where they are meant to.
  var withoutCredentials: URL {
    guard user != nil || password != nil,
      var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
    else { return self }
    components.user = nil
    components.password = nil
    return components.url ?? self
  }
}

/// An origin: scheme, host and port (RFC 6454 §4), to which credentials belong. Compared as in §5.
struct Origin: Hashable, Sendable {
  /// The scheme of URLs that name a socket: see ``Foundation/URL/socketPath``.
  static let socketScheme = "http+unix"

  let scheme: String
  /// The host in lower case, or the path of a socket.
  let host: String
  let port: Int

  /// Returns `nil` for a URL without a scheme or a host. A WebSocket handshake belongs to the origin of the
  /// corresponding `http` or `https` URL (RFC 6455 §4.1).
  init?(_ url: URL) {
    guard let scheme = url.scheme?.lowercased(), let host = url.host, !host.isEmpty else { return nil }
    self.scheme =
      switch scheme {
      case "ws": "http"
      case "wss": "https"
      default: scheme
      }
    self.host = scheme == Self.socketScheme ? host : host.lowercased()
    port = url.port ?? Self.defaultPort(isSecure: self.scheme == "https")
  }

  /// The host that its connections and their requests name, without brackets. Servers on a socket expect some host.
  var hostToConnect: String { scheme == Self.socketScheme ? "localhost" : HostSyntax.unbracketed(host) }

  /// RFC 9110 §4.2.1, §4.2.2.
  static func defaultPort(isSecure: Bool) -> Int { isSecure ? 443 : 80 }

  // Every request is looked up by its origin several times, and few origins differ in their scheme alone.
  func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
  }
}

extension URL {
  /// Whether it certainly has neither a user nor a socket. Every request asks, and taking a URL apart is expensive.
  var isPlain: Bool {
    var text = absoluteString
    return text.withUTF8 { !$0.contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "+") } }
  }

  /// The Unix domain socket that an `http+unix` URL has instead of a host: `http+unix://%2Frun%2Fdocker.sock/info` is `/info` of
  /// the server at `/run/docker.sock`, and a name with `@` stands for an abstract socket. `nil` for any other URL.
  ///
  /// No standard defines the scheme. Clients of Docker and of other local servers use it in this form.
  var socketPath: String? {
    // Every request asks, and few have such a URL.
    guard absoluteString.utf8.dropFirst(4).first == UInt8(ascii: "+"), scheme?.lowercased() == Origin.socketScheme
    else { return nil }
    return host(percentEncoded: false)
  }
}
