import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport that fails every request, for options that no implementation supports: nothing is sent over a connection
/// that is less secure than required.
struct UnavailableTransport: Transport {
  let error: URLError

  init(_ error: URLError) { self.error = error }

  init(_ code: URLError.Code, _ description: String) { self.init(URLError(code, url: nil, description: description)) }

  var resolvesRedirects: Bool { false }
  var resourceTimeout: Duration? { nil }
  let sessionSettings = SessionSettings.opaque()
  var connectionSettings: ConnectionSettings { ConnectionSettings(trust: .unavailable(error)) }

  func start(_ request: TransportRequest) async throws -> TransportResponse { throw error }
}
