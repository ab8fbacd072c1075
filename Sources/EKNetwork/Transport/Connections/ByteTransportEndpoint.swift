/// The endpoint that a byte transport connects to, with its proxies and TLS options.
struct ByteTransportEndpoint: Sendable, Equatable {
  /// A host name or an IP address, an IPv6 address without brackets; validated by ``HostSyntax``.
  var host: String
  var port: Int
  var isSecure: Bool
  var route = ConnectionRoute()
  #if os(Linux)
    var tls: TLSOptions?
    /// The proxy; `nil` if there is none.
    var proxy: ProxyServer?
    /// Whether HTTP/2 is offered as well as HTTP/1.1 (RFC 7301).
    var offersHTTP2 = false
    /// Whether HTTP is spoken on it, so that a proxy forwards the requests for an `http` URL (RFC 9112 §3.2.2). Otherwise
    /// it opens a tunnel.
    var isForHTTP = false

    /// Whether a proxy forwards the requests.
    var isForwarded: Bool { isForHTTP && proxy?.forwards(isSecure: isSecure) == true }
  #endif

  /// The host as it is written in a URL.
  var hostInURL: String { host.contains(":") ? "[\(host)]" : host }

  /// The URL that stands for it.
  var url: String { "\(isSecure ? "https" : "http")://\(hostInURL):\(port)/" }
}
