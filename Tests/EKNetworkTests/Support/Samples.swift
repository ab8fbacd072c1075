import LoopbackServer

@testable import EKNetwork

struct Item: Codable, Equatable, Sendable {
  var id: Int
  var name = "teapot"
}

/// A request whose every part a test can choose.
struct Probe<Value: Decodable>: NetworkRequest {
  typealias Response = Value
  var path = "/item"
  var method = HTTPMethod.get
  var headers: [String: String]?
  var headerFields: HeaderFieldList?
  var queryParameters: [String: String]?
  var body: RequestBody?
  var multipartData: MultipartFormData?
  var progress: NetworkProgress?
  var retryPolicy = RetryPolicy()
  var acceptedStatuses = StatusCodes.successful
  var onInterimResponse: (@Sendable (InterimResponse) -> Void)?
  var errorDecoder: ((Data) -> Error?)?
  var allowsRetry = true
  var allowsResponseDecoderOverride = true
  var timeout: Duration?
  var totalTimeout: Duration?
  var redirectPolicy = RedirectPolicy.follow
  var pathIsPercentEncoded = false
  var resends: Bool?
  var maximumResponseSize: Int64?
  var maximumInflation: Int?
  var expectsContinue = false

  var isIdempotent: Bool { resends ?? method.isIdempotent }
}

typealias ItemProbe = Probe<Item>

/// A response that is written by hand.
struct Numbered: Codable, Equatable, Sendable {
  var id: Int
}

/// Which implementation a wire test runs on.
enum Wire: String, CaseIterable, Sendable {
  case automatic
  case urlSession

  func manager(
    _ server: LoopbackServer, clock: any Clock<Duration> = ContinuousClock(),
    _ configure: (URLSessionConfiguration) -> Void = { _ in }
  ) -> NetworkManager {
    manager(server.baseURL, clock: clock, configure)
  }

  func manager(
    _ url: URL, clock: any Clock<Duration> = ContinuousClock(),
    _ configure: (URLSessionConfiguration) -> Void = { _ in }
  ) -> NetworkManager {
    NetworkManager(baseURL: { url }, transport: transport(configure), clock: clock)
  }

  /// A manager whose connections no other test uses or evicts.
  func isolatedManager(_ server: LoopbackServer) -> NetworkManager {
    #if os(Linux)
      if self == .automatic {
        // Sessions with different TLS options share no connections, not even those without TLS.
        let tls = TLSOptions(pinnedPublicKeys: [
          Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
        ])
        return NetworkManager(
          baseURL: server.baseURL, session: URLSession(configuration: .ephemeral), transport: .secured(by: tls))
      }
    #endif
    return manager(server)
  }

  func transport(_ configure: (URLSessionConfiguration) -> Void = { _ in }) -> any Transport {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 64
    // A busy machine is no reason to time out.
    configuration.timeoutIntervalForRequest = 600
    configure(configuration)
    let choice: TransportChoice = self == .automatic ? .automatic : .urlSession
    return TransportSelection.transport(for: URLSession(configuration: configuration), choice: choice)
  }
}

/// Renews a token that any thread may read.
final class TestTokens: TokenRefreshProvider, Sendable {
  let token: Locked<String>
  let refreshes = Locked(0)
  private let renew: @Sendable (Int) async throws -> String

  init(_ token: String, renew: @escaping @Sendable (Int) async throws -> String = { _ in "new" }) {
    self.token = Locked(token)
    self.renew = renew
  }

  var current: String { token.withLock { $0 } }
  var count: Int { refreshes.withLock { $0 } }

  func refreshTokenIfNeeded() async throws {
    let number = refreshes.withLock { count in
      count += 1
      return count
    }
    let renewed = try await renew(number)
    token.withLock { $0 = renewed }
  }
}
