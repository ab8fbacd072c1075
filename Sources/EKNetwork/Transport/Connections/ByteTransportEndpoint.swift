/// The endpoint that a byte transport connects to, with its proxies and TLS options.
struct ByteTransportEndpoint: Sendable, Equatable {
  /// A host name or an IP address, an IPv6 address without brackets; validated by ``HostSyntax``.
  var host: String
  var port: Int
  var isSecure: Bool
  /// The proxies; `nil` takes them from the environment.
  var proxies: SessionProxies?
  #if os(Linux)
    var tls: TLSOptions?
    /// Whether HTTP/2 is offered as well as HTTP/1.1 (RFC 7301).
    var offersHTTP2 = false
  #endif

  /// The host as it is written in a URL.
  var hostInURL: String { host.contains(":") ? "[\(host)]" : host }

  /// The URL that stands for it.
  var url: String { "\(isSecure ? "https" : "http")://\(hostInURL):\(port)/" }
}
