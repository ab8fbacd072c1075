/// Where a byte transport connects to, and how.
struct ByteTransportEndpoint: Sendable, Equatable {
  /// A name or an address, an IPv6 address without brackets; checked by ``HostSyntax``.
  var host: String
  var port: Int
  var isSecure: Bool
  /// `nil` takes them from the environment.
  var proxies: SessionProxies?
  #if os(Linux)
    var tls: TLSOptions?
  #endif

  /// As it stands in a URL.
  var hostInURL: String { host.contains(":") ? "[\(host)]" : host }
}

extension ByteTransportEndpoint {
  /// An address that is connected to as the options say.
  init(host: String, port: Int, isSecure: Bool, options: WebSocketOptions) {
    self.init(host: host, port: port, isSecure: isSecure)
    proxies = options.proxies
    #if os(Linux)
      tls = options.tls
    #endif
  }
}
