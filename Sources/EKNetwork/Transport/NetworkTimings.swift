/// The timings of the last exchange of a request, and the properties of its connection.
///
/// A value is `nil` if its phase did not take place, as with connecting when a connection was already open, or if the
/// session does not report it, as with a mock and with Foundation's implementation on Linux.
public struct NetworkTimings: Sendable, Equatable {
  /// The time it took to resolve the name of the host, or of the proxy.
  public var nameLookup: Duration?
  /// The time it took to connect, without ``nameLookup`` and ``secureConnect``.
  public var connect: Duration?
  /// The duration of the TLS handshake.
  public var secureConnect: Duration?
  /// The time from the start to the first byte of the response.
  public var firstByte: Duration?
  /// The time from the start to the end.
  public var total: Duration
  /// Whether the connection had served another request before.
  public var isConnectionReused: Bool?
  /// The name of the protocol, such as `HTTP/1.1` or `HTTP/2`.
  public var protocolName: String?
  /// The address of the server, or of the proxy.
  public var remoteAddress: String?

  /// Creates timings as the library reports them, for tests.
  public init(
    nameLookup: Duration? = nil, connect: Duration? = nil, secureConnect: Duration? = nil, firstByte: Duration? = nil,
    total: Duration, isConnectionReused: Bool? = nil, protocolName: String? = nil, remoteAddress: String? = nil
  ) {
    self.nameLookup = nameLookup
    self.connect = connect
    self.secureConnect = secureConnect
    self.firstByte = firstByte
    self.total = total
    self.isConnectionReused = isConnectionReused
    self.protocolName = protocolName
    self.remoteAddress = remoteAddress
  }
}
