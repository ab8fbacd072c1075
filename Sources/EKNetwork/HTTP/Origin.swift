import Foundation

extension URL {
  /// The URL without the user and the password in it, which get into errors and files only where they are meant to.
  var withoutCredentials: URL {
    guard hasCredentials,
      var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
    else { return self }
    components.user = nil
    components.password = nil
    return components.url ?? self
  }

  /// The components in the form in which URLs are compared (RFC 3986 §6.2.2.1, §6.2.3), without what is not sent as a part of
  /// the target (RFC 9110 §7.1): user, password and fragment. `nil` if it cannot be parsed.
  var normalized: URLComponents? {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return nil }
    let (scheme, host) = (parts.scheme?.lowercased(), parts.encodedHost)
    // Not unless it differs: Foundation then encodes the host once more, which it cannot if that is the path of a socket.
    if parts.scheme != scheme { parts.scheme = scheme }
    if scheme != Origin.socketScheme, host != host?.lowercased() { parts.encodedHost = host?.lowercased() }
    parts.user = nil
    parts.password = nil
    parts.fragment = nil
    if scheme == "https" && parts.port == 443 || scheme == "http" && parts.port == 80 { parts.port = nil }
    if host != nil, parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
    return parts
  }

  /// The URL with the user and the password of `source`, if both have the same origin and only `source` has some: those in a
  /// URL are for all of its origin, as in other clients, and a server does not repeat them in a `Location`.
  func inheritingCredentials(of source: URL) -> URL {
    guard !source.isPlain, (try? source.credential) != nil, !hasCredentials, Origin(self) == Origin(source),
      var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
    else { return self }
    components.user = source.user(percentEncoded: false)
    components.password = source.password(percentEncoded: false)
    return components.url ?? self
  }

  /// Whether it has a user or a password. What is not UTF-8 has no decoded form.
  private var hasCredentials: Bool { user(percentEncoded: true) != nil || password(percentEncoded: true) != nil }

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

/// The header fields that must only be sent to the origin for which they were meant.
///
/// RFC 9110 §15.4 names `Authorization` and `Cookie`, and leaves other fields with security implications to the client:
/// here they are recognised by their names.
enum OriginFields {
  private static let exact: Set<String> = ["authorization", "proxy-authorization", "cookie", "cookie2", "host"]
  /// Words that the names of other secret fields contain. A false match only means that the field is not sent to other
  /// origins.
  private static let words = [
    "token", "secret", "password", "passwd", "auth", "session", "signature", "credential", "cookie", "api-key",
    "apikey", "api_key", "access-key", "csrf", "xsrf", "jwt", "bearer", "assertion",
  ]
  /// Fields whose names end like those of an API key, but that identify a request or a resource.
  private static let otherKeys = ["idempotency-key", "websocket-key", "surrogate-key", "cache-key"]

  /// The fields of a trace (W3C Trace Context, W3C Baggage), which are no credentials, but may contain more than others should
  /// know.
  private static let trace: Set<String> = ["traceparent", "tracestate", "baggage"]

  /// Words of the names of fields with a secret that is another one in each request: the code of a second factor, or the
  /// proof of a key (RFC 9449 §4).
  private static let oneTimeWords: Set<Substring> = ["otp", "totp", "dpop"]

  /// Returns whether a field is not sent to another origin: it may be that of a credential, or belongs to a trace.
  static func stays(_ name: String) -> Bool {
    contains(name) || isOneTime(name) || trace.contains(name.lowercased())
  }

  /// Returns whether a field may be that of a secret which does not distinguish one user from another, as it is used once.
  static func isOneTime(_ name: String) -> Bool {
    name.lowercased().split { !$0.isLetter && !$0.isNumber }.contains { oneTimeWords.contains($0) }
  }

  static func contains(_ name: String) -> Bool {
    let name = name.lowercased()
    return exact.contains(name) || words.contains { name.contains($0) }
      || name.hasSuffix("key") && !otherKeys.contains { name.hasSuffix($0) }
  }
}
