import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Opens a transport and performs the opening handshake on it.
enum Handshake {
  private enum Outcome: Sendable {
    case agreed(HandshakeResponse.Agreement)
    case refused(WebSocketError, HandshakeResponse)
  }

  /// - Parameter url: The URL of the request, for the response that refuses it.
  static func run(
    _ request: HandshakeRequest, on transport: any ByteTransport, options: WebSocketOptions, url: URL? = nil
  ) async throws -> HandshakeResponse.Agreement {
    switch try await limited(transport, options, { try await exchange(request, on: transport) }) {
    case .agreed(let agreement): return agreement
    case .refused(let error, let response):
      defer { transport.cancel() }
      if let onRefusal = options.onRefusal, var body = HandshakeRefusal(response, url: url) {
        await body.read(from: transport, clock: options.clock)
        try Task.checkCancellation()
        onRefusal(body.response)
      }
      throw error
    }
  }

  /// Opens a connection without a handshake.
  static func openBare(_ address: ByteTransportEndpoint, options: WebSocketOptions) async throws -> any ByteTransport {
    let transport = try ByteTransports.make(address, options)
    try await limited(transport, options) { try await transport.open() }
    return transport
  }

  private static func limited<Result: Sendable>(
    _ transport: any ByteTransport, _ options: WebSocketOptions, _ work: @Sendable () async throws -> Result
  ) async throws -> Result {
    do {
      return try await withTaskCancellationHandler {
        try Task.checkCancellation()
        let result = try await TimeLimit.run(
          options.connectTimeout, clock: options.clock, error: WebSocketError.timedOut, stop: transport.cancel, work)
        // A transport that was cancelled at the last moment cannot be used.
        try Task.checkCancellation()
        return result
      } onCancel: {
        transport.cancel()
      }
    } catch {
      transport.cancel()
      if Task.isCancelled { throw CancellationError() }
      switch error as? ByteTransportError {
      case .failed(let reason)?: throw WebSocketError.connectionLost(reason: reason)
      case .cancelled?: throw WebSocketError.connectionLost(reason: "The connection ended during the handshake")
      case .unavailable?: throw URLError(.resourceUnavailable)
      case nil: throw error
      }
    }
  }

  private static func exchange(
    _ request: HandshakeRequest, on transport: any ByteTransport
  ) async throws -> Outcome {
    try await transport.open()
    let sent = SingleResult()
    transport.send(request.head, isLast: false) { sent.finish($0) }
    try await sent.value()
    var response = HandshakeResponse()
    while true {
      let bytes = try await transport.receive()
      guard !bytes.isEmpty else { throw WebSocketError.connectionLost(reason: "The server ended the handshake") }
      do throws(WebSocketError) {
        if let agreement = try response.receive(bytes, for: request) { return .agreed(agreement) }
      } catch {
        guard case .refused = error else { throw error }
        return .refused(error, response)
      }
    }
  }
}
