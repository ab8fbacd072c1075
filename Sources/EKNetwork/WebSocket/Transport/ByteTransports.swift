import Foundation

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
