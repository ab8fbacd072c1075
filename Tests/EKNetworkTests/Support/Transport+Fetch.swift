import Foundation

@testable import EKNetwork

extension HTTPRequest {
  /// The same request, which has a URL.
  init(of request: URLRequest) {
    do { self = try HTTPRequest(request) } catch { fatalError("A request without a URL") }
  }
}

extension HopRequest {
  init(_ request: URLRequest) { self.init(HTTPRequest(of: request)) }

  init(_ request: URLRequest, session: SessionSettings, hasLeftOrigin: Bool = false) throws {
    try self.init(HTTPRequest(request), session: session, hasLeftOrigin: hasLeftOrigin)
  }
}

extension TransportRequest {
  /// A request to which no session adds anything.
  init(_ request: URLRequest) { self.init(HopRequest(request)) }

  /// Changes the request, to which no session adds anything.
  mutating func change(_ change: (inout URLRequest) -> Void) {
    var request = hop.own.urlRequest
    change(&request)
    hop = HopRequest(request)
  }
}

extension Exchange {
  func load(_ request: URLRequest) async throws -> CollectedResponse { try await load(HTTPRequest(request)) }

  func open(_ request: URLRequest, collectsBody: Bool) async throws -> TransportResponse {
    try await open(HTTPRequest(request), collectsBody: collectsBody)
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
