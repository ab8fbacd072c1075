import LoopbackServer

@testable import EKNetwork

/// The server that stands in for the hosts of the printed pages during a test.
enum PrintedHosts {
  @TaskLocal static var server: LoopbackServer?
}

/// A printed endpoint, rerouted to the server of the test.
struct Rerouted<Printed: PrismNetworkEndpoint>: PrismNetworkEndpoint {
  let printed: Printed

  var scheme: PrismNetworkScheme { .http }
  var host: String { "127.0.0.1" }
  var port: Int? { PrintedHosts.server?.port }
  var path: String { printed.path }
  var method: PrismNetworkMethod { printed.method }
  var queryItems: [URLQueryItem]? { printed.queryItems }
  var headers: [String: String] { printed.headers }
  var body: (any Encodable)? { printed.body }
  var timeoutInterval: TimeInterval? { printed.timeoutInterval }
  var cacheInterval: TimeInterval? { printed.cacheInterval }
}

struct ReroutedRequest<Printed: PrismNetworkRequest>: PrismNetworkRequest {
  let printed: Printed

  var endpoint: Rerouted<Printed.Endpoint> { Rerouted(printed: printed.endpoint) }

  func decode(data: Data, with formatter: DateFormatter?) throws -> Printed.Response {
    try printed.decode(data: data, with: formatter)
  }
}

/// Replaces the adapter in the printed code, and passes its requests to a real adapter, rerouted to the server of the
/// test.
struct LoopbackClient: PrismNetworkClient {
  let adapter: PrismNetworkAdapter

  init() { adapter = PrismNetworkAdapter() }

  init(configuration: URLSessionConfiguration, cache: URLCache) {
    adapter = PrismNetworkAdapter(configuration: configuration, cache: cache)
  }

  func request<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter?
  ) async throws -> Request.Response {
    try await adapter.request(on: ReroutedRequest(printed: request), with: formatter)
  }

  func redirect<Request: PrismNetworkRequest>(from request: Request) async throws -> URL {
    try await adapter.redirect(from: ReroutedRequest(printed: request))
  }
}
