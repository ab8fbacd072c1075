import LoopbackServer
import Testing

@testable import EKNetwork

/// Calls whose result says nothing compile without a warning, which would be an error here, and do what the others do.
struct DiscardableResponseTests {
  private struct Created: DiscardableResponse, Sendable { let id: Int }

  private struct Deletion: NetworkRequest {
    typealias Response = EmptyResponse
    let path = "/item"
    let method = HTTPMethod.delete
  }

  @MainActor private struct AtHome: @MainActor NetworkRequest {
    typealias Response = EmptyResponse
    let path = "/item"
    let method = HTTPMethod.delete
  }

  /// A mock counts what it is asked for, and has only the requirement.
  private final class Mock: NetworkManaging {
    var tokenRefresher: TokenRefreshProvider?
    var calls: [(path: String, token: String?)] = []

    func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> T.Response {
      calls.append((request.path, accessToken?()))
      guard let response = EmptyResponse() as? T.Response else { throw NetworkError.emptyResponse }
      return response
    }
  }

  @Test(arguments: Wire.allCases) func theManagerSendsThem(wire: Wire) async throws {
    let server = try LoopbackServer()
    server.route("/item", .json(#"{"id":5}"#, status: 201))
    let manager = wire.manager(server)
    try await manager.send(Deletion())
    try await manager.send(Deletion(), accessToken: nil)
    try await manager.send(Deletion()) { "t" }
    try await manager.send(Probe<StatusCodeResponse>())
    try await manager.send(Probe<Created>())
    #expect(try await manager.send(Probe<Created>()).id == 5)
    #expect(try await manager.send(Deletion()) == EmptyResponse())
    let isolated: () async throws -> Void = { @MainActor in
      try await manager.send(AtHome())
      try await manager.send(AtHome()) { "t" }
    }
    try await isolated()
    #expect(server.requestCount == 9)
    #expect(server.requests.filter { $0.headers["Authorization"] == "Bearer t" }.count == 2)
    server.route("/item") { _ in .status(404) }
    await #expect(throws: HTTPError.self) { try await manager.send(Deletion()) }
  }

  @Test func theProtocolSendsThem() async throws {
    let mock = Mock()
    let existential: any NetworkManaging = mock
    try await mock.send(Deletion())
    try await existential.send(Deletion())
    try await Self.opaque(mock)
    #expect(mock.calls.map(\.path) == ["/item", "/item", "/item"] && mock.calls.allSatisfy { $0.token == nil })
    await #expect(throws: NetworkError.emptyResponse) { try await existential.send(Probe<Created>(), accessToken: nil) }
  }

  private nonisolated(nonsending) static func opaque(_ manager: some NetworkManaging) async throws {
    try await manager.send(Deletion())
  }
}
