import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Collecting a body")
struct TransportCollectTests {
  @Test(
    "Chunks are joined, and no chunks give an empty body", arguments: [[], ["a"], ["a", "b"], ["a", "b", "c"]])
  func collect(parts: [String]) async throws {
    let body = ListedBody(parts.map { .success(Data($0.utf8)) })
    let fetched = try await Self.response(200, body).collect()
    #expect(fetched.data == Data(parts.joined().utf8))
    #expect(!body.isCancelled)
  }

  @Test("A false Content-Length does not reserve excessive memory")
  func lyingLength() async throws {
    let body = ListedBody([.success(Data("a".utf8)), .success(Data("b".utf8))])
    let response = try Self.response(200, body, ["Content-Length": "9223372036854775807"])
    #expect(try await response.collect().data == Data("ab".utf8))
  }

  @Test("A small body is drained, so that its connection can be reused")
  func smallRest() async throws {
    let body = ListedBody([.success(Data("moved".utf8))])
    try await Self.response(302, body).drain()
    #expect(body.pulls == 2)
    #expect(!body.isCancelled)
  }

  @Test("A large body is cancelled, at once if its length is announced")
  func largeRest() async throws {
    let unannounced = ListedBody(Array(repeating: .success(Data(count: 20_000)), count: 100))
    try await Self.response(302, unannounced).drain()
    #expect(unannounced.isCancelled)
    #expect(unannounced.pulls == 4)

    let announced = ListedBody([.success(Data(count: 20_000))])
    try await Self.response(302, announced, ["Content-Length": "70000"]).drain()
    #expect(announced.isCancelled)
    #expect(announced.pulls == 0)
  }

  @Test("Draining ignores a failure of the body, but not a cancellation")
  func brokenRest() async throws {
    try await Self.response(302, ListedBody([.failure(URLError(.networkConnectionLost))])).drain()
    let cancelled = ListedBody([.failure(CancellationError())])
    await #expect(throws: CancellationError.self) { try await Self.response(302, cancelled).drain() }
  }

  private static func response(
    _ status: Int, _ body: ListedBody, _ fields: [String: String] = [:]
  ) throws -> TransportResponse {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let response = try #require(
      HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
    return TransportResponse(head: ResponseHead(response), body: body)
  }
}

/// A body that returns the given chunks.
private final class ListedBody: TransportBody {
  private struct State {
    var parts: ArraySlice<Result<Data, any Error>>
    var pulls = 0
    var isCancelled = false
  }

  private let state: Locked<State>

  init(_ parts: [Result<Data, any Error>]) { state = Locked(State(parts: parts[...])) }

  var pulls: Int { state.withLock { $0.pulls } }
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func next() async throws -> Data? {
    try state.withLock { state in
      state.pulls += 1
      return state.parts.popFirst()
    }?.get()
  }

  func cancel() { state.withLock { $0.isCancelled = true } }
}
