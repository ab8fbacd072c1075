/// How long the parts of the last exchange of a request took, and what it went over.
///
/// Each is `nil` where it did not happen, as connecting over a connection that was open already, or where the session
/// does not tell: a mock, and Foundation's implementation on Linux.
public struct NetworkTimings: Sendable, Equatable {
  /// Resolving the name of the host, or of the proxy.
  public var nameLookup: Duration?
  /// Connecting, without ``nameLookup`` and ``secureConnect``.
  public var connect: Duration?
  /// The TLS handshake.
  public var secureConnect: Duration?
  /// From the start to the first byte of the response.
  public var firstByte: Duration?
  /// From the start to the end.
  public var total: Duration
  /// Whether the connection had served another request before.
  public var isConnectionReused: Bool?
  /// The protocol, such as `HTTP/1.1` or `HTTP/2`.
  public var protocolName: String?
  /// The address of the server, or of the proxy.
  public var remoteAddress: String?

  /// Timings as the library would make them, for tests.
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
