@testable import EKNetwork

extension TransportRequest {
  /// A request to which no session adds anything.
  init(_ urlRequest: URLRequest) { self.init(HopRequest(urlRequest)) }

  /// Changes the request, to which no session adds anything.
  mutating func change(_ change: (inout URLRequest) -> Void) {
    var request = hop.own
    change(&request)
    hop = HopRequest(request)
  }
}

extension Transport {
  /// The response with its whole body, to the request with what the session adds to it, collected as by `Exchange`.
  @concurrent func fetch(_ request: TransportRequest) async throws -> CollectedResponse {
    var request = request
    request.hop = try HopRequest(request.hop.own, session: sessionSettings)
    request.collectsBody = true
    return try await start(request).collect()
  }
}
