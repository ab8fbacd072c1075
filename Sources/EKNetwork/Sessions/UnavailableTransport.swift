#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// Stands where libcurl cannot be opened and nothing else can do what was asked for: nothing is sent over a
  /// connection that is less than it should be.
  struct UnavailableTransport: Transport {
    var resolvesRedirects: Bool { false }
    var resourceTimeout: Duration? { nil }
    let sessionDescription = SessionDescription.opaque()

    func start(_ request: TransportRequest) async throws -> TransportResponse {
      throw URLError(
        .secureConnectionFailed,
        userInfo: [NSLocalizedDescriptionKey: "TLS options need libcurl, and libcurl.so.4 cannot be opened"])
    }
  }
#endif
