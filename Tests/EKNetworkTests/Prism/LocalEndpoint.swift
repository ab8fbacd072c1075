import LoopbackServer

@testable import EKNetwork

/// An endpoint of a loopback server with settable properties.
struct LocalEndpoint: PrismNetworkEndpoint {
  var scheme = PrismNetworkScheme.http
  var host = "127.0.0.1"
  var port: Int?
  var path = "/item"
  var method = PrismNetworkMethod.get
  var queryItems: [URLQueryItem]?
  var headers: [String: String] = [:]
  var text: String?
  var timeoutInterval: TimeInterval?
  var cacheInterval: TimeInterval?

  var body: (any Encodable)? { text }
}

struct LocalRequest<Response: Decodable & Sendable>: PrismNetworkRequest {
  var endpoint: LocalEndpoint

  init(_ endpoint: LocalEndpoint) { self.endpoint = endpoint }
}

struct Teapot: PrismEntity, Sendable {
  var id: Int
  var name = "teapot"
}

extension LoopbackServer {
  func endpoint(_ change: (inout LocalEndpoint) -> Void = { _ in }) -> LocalEndpoint {
    var endpoint = LocalEndpoint(port: port)
    change(&endpoint)
    return endpoint
  }

  func teapot(_ change: (inout LocalEndpoint) -> Void = { _ in }) -> LocalRequest<Teapot> {
    LocalRequest(endpoint(change))
  }

  /// Responds to each request with the next number.
  func countTeapots(_ path: String = "/item") {
    let number = Locked(0)
    route(path) { _ in
      .json(
        Teapot(
          id: number.withLock { number in
            number += 1
            return number
          }))
    }
  }
}

extension PrismNetworkAdapter {
  /// An adapter for tests, with a timeout that a busy machine does not exceed.
  static func forTests(
    cache: URLCache? = nil, retryPolicy: (any PrismRetryPolicy)? = nil, transport: TransportChoice = .automatic,
    clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() },
    configure: (URLSessionConfiguration) -> Void = { _ in }
  ) -> PrismNetworkAdapter {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 600
    configuration.httpMaximumConnectionsPerHost = 64
    configure(configuration)
    return PrismNetworkAdapter(
      configuration: configuration, cache: cache, retryPolicy: retryPolicy, transport: transport, clock: clock,
      now: now)
  }
}
