import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stands where nothing can do what was asked for: nothing is sent over a connection that is less than it should be.
struct UnavailableTransport: Transport {
  let error: URLError

  init(_ code: URLError.Code, _ description: String) { error = URLError(code, url: nil, description: description) }

  var resolvesRedirects: Bool { false }
  var resourceTimeout: Duration? { nil }
  let sessionSettings = SessionSettings.opaque()

  func start(_ request: TransportRequest) async throws -> TransportResponse { throw error }
}
