import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport that fails every request, for options that no implementation supports: nothing is sent over a connection
/// that is less secure than required.
struct UnavailableTransport: Transport {
  let error: URLError
  /// The socket that requests were meant for: a WebSocket beside them must not go to the host instead.
  private let socketPath: String?

  init(_ error: URLError, socketPath: String? = nil) {
    self.error = error
    self.socketPath = socketPath
  }

  init(_ code: URLError.Code, _ description: String, socketPath: String? = nil) {
    self.init(URLError(code, url: nil, description: description), socketPath: socketPath)
  }

  var resolvesRedirects: Bool { false }
  var resourceTimeout: Duration? { nil }
  let sessionSettings = SessionSettings.opaque()
  var connectionSettings: ConnectionSettings { ConnectionSettings(trust: .unavailable(error), socketPath: socketPath) }

  func start(_ request: TransportRequest) async throws -> TransportResponse { throw error }
}
