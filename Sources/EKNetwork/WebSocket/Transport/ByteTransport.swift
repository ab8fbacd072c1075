import Foundation

/// A connection that carries bytes, with or without TLS: what a WebSocket is spoken over.
protocol ByteTransport: AnyObject, Sendable {
  /// Opens the connection.
  func open() async throws
  /// The next bytes, empty when the peer has ended the connection. One call at a time: what is not asked for stays with
  /// the system, which slows the peer down.
  func receive() async throws -> [UInt8]
  /// Sends bytes after those of earlier calls, and says when the system has taken them. After a call with `isLast`
  /// nothing more is sent: later calls complete with an error.
  func send(_ bytes: [UInt8], isLast: Bool, completion: @escaping @Sendable ((any Error)?) -> Void)
  /// How many bytes the system has taken that have not arrived at the peer; `nil` where that is not known.
  func unsentBytes() async -> Int?
  /// Ends the connection at once; whatever is under way fails.
  func cancel()
}

extension ByteTransport {
  func unsentBytes() async -> Int? { nil }
}

/// How a byte transport ends before its peer ends it.
enum ByteTransportError: Error, Equatable {
  /// `cancel()` was called, or the last bytes were sent.
  case cancelled
  case failed(String)
  /// Neither libcurl nor Network is there.
  case unavailable
}

/// The byte transport of the platform.
enum ByteTransports {
  static func make(
    _ address: ByteTransportEndpoint, _ options: WebSocketOptions = WebSocketOptions()
  ) throws -> any ByteTransport {
    #if os(Linux)
      guard let loop = CurlSocketLoop.next else { throw ByteTransportError.unavailable }
      return CurlByteTransport(address, loop: loop)
    #elseif canImport(Darwin)
      guard options.tls?.clientCertificate == nil else { throw URLError(.clientCertificateRejected) }
      return NetworkByteTransport(address, over: SystemConnection(address, options.parameters, tls: options.tls))
    #else
      throw ByteTransportError.unavailable
    #endif
  }
}
