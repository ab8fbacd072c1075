import Foundation

/// A byte stream, with or without TLS, that carries a WebSocket connection.
protocol ByteTransport: AnyObject, Sendable {
  func open() async throws
  /// Returns the next bytes, empty when the peer has ended the connection. One call at a time: unread bytes stay in the
  /// system's buffers, which slows the peer down.
  func receive() async throws -> [UInt8]
  /// Sends bytes after those of earlier calls, and calls `completion` when the system has accepted them. After a call
  /// with `isLast` nothing more is sent: later calls complete with an error.
  func send(_ bytes: [UInt8], isLast: Bool, completion: @escaping @Sendable ((any Error)?) -> Void)
  func output() async -> ByteTransportOutput
  /// Ends the connection immediately; pending operations fail.
  func cancel()
}

extension ByteTransport {
  func output() async -> ByteTransportOutput { ByteTransportOutput() }
}

/// What has become of the bytes that the system has accepted, those that TLS adds included.
struct ByteTransportOutput {
  /// The number of bytes that have not arrived at the peer; 0 if that is unknown.
  var unsent = 0
  /// The number of bytes whose arrival the peer's system has confirmed; `nil` if that is unknown.
  var confirmed: UInt64?
}

/// An error that ends a byte transport before the peer does.
enum ByteTransportError: Error, Equatable {
  /// `cancel()` was called, or the last bytes were sent.
  case cancelled
  case failed(String)

  var reason: String {
    switch self {
    case .cancelled: "This side ended it"
    case .failed(let text): text
    }
  }
}

enum ByteTransports {
  static func make(
    _ address: ByteTransportEndpoint, _ options: WebSocketOptions = WebSocketOptions()
  ) throws -> any ByteTransport {
    if let problem = address.route.problem { throw problem }
    if let problem = options.tls?.problem { throw problem }
    #if os(Linux)
      guard let loop = SocketLoop.next else { throw EventLoops.startError }
      return CurlByteTransport(address, loop: loop)
    #elseif canImport(Darwin)
      guard options.tls?.clientCertificate == nil else { throw URLError(.clientCertificateRejected) }
      if address.route.socketPath?.first == "@" {
        throw URLError(.badURL, url: nil, description: "Only Linux has abstract sockets")
      }
      if address.route.socketPath == nil, let proxies = options.proxies,
        (address.isSecure ? proxies.secure : proxies.plain) != nil
      {
        throw TransportOptionError(option: "connectionProxyDictionary", library: "NWConnection")
      }
      return NetworkByteTransport(address, over: SystemConnection(address, options.parameters, tls: options.tls))
    #else
      throw URLError(.resourceUnavailable)
    #endif
  }
}

extension ByteTransportEndpoint {
  init(host: String, port: Int, isSecure: Bool, options: WebSocketOptions) throws {
    self.init(host: host, port: port, isSecure: isSecure)
    route = options.route
    #if os(Linux)
      tls = options.tls
      connectWait = options.connectTimeout.clampedNanoseconds
      proxy = try options.proxies.chosen(forHost: host, port: port, isSecure: isSecure)
        .server(for: host, isSecure: isSecure, isDirect: route.isDirect(to: host))
    #endif
  }
}
