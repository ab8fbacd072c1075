import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport that fails every request, for options that no implementation supports: nothing is sent over a connection
/// that is less secure than required.
struct UnavailableTransport: Transport {
  let error: URLError
  /// Where requests were meant to go: a WebSocket beside them must not go elsewhere.
  private let route: ConnectionRoute

  init(_ error: URLError, route: ConnectionRoute? = nil) {
    self.error = error
    self.route = route ?? ConnectionRoute()
  }

  init(_ code: URLError.Code, _ description: String, route: ConnectionRoute? = nil) {
    self.init(URLError(code, url: nil, description: description), route: route)
  }

  var resolvesRedirects: Bool { false }
  var resourceTimeout: Duration? { nil }
  let sessionSettings = SessionSettings.opaque()
  var connectionSettings: ConnectionSettings { ConnectionSettings(trust: .unavailable(error), route: route) }

  func start(_ request: TransportRequest) async throws -> TransportResponse { throw error }
}
