import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Collecting a body")
struct TransportFetchTests {
  @Test(
    "One chunk is handed on, several are joined, none is empty", arguments: [[], ["a"], ["a", "b"], ["a", "b", "c"]])
  func collect(parts: [String]) async throws {
    let body = ListedBody(parts.map { .success(Data($0.utf8)) })
    let fetched = try await Self.response(200, body).collect(followsRedirects: true)
    #expect(fetched.data == Data(parts.joined().utf8))
    #expect(!body.isCancelled)
  }

  @Test("A lying Content-Length reserves no more than is reasonable")
  func lyingLength() async throws {
    let body = ListedBody([.success(Data("a".utf8)), .success(Data("b".utf8))])
    let response = try Self.response(200, body, ["Content-Length": "9223372036854775807"])
    #expect(try await response.collect(followsRedirects: false).data == Data("ab".utf8))
  }

  @Test("A small redirect is read to its end", arguments: [301, 302, 303, 307, 308])
  func smallRedirect(status: Int) async throws {
    let body = ListedBody([.success(Data("moved".utf8))])
    let fetched = try await Self.response(status, body, ["Location": "/"]).collect(followsRedirects: true)
    #expect(fetched.data.isEmpty)
    #expect(body.pulls == 2)
    #expect(!body.isCancelled)
  }

  @Test("A large redirect is cut off, at once if it says how large it is")
  func largeRedirect() async throws {
    let unannounced = ListedBody(Array(repeating: .success(Data(count: 20_000)), count: 100))
    _ = try await Self.response(302, unannounced, ["Location": "/"]).collect(followsRedirects: true)
    #expect(unannounced.isCancelled)
    #expect(unannounced.pulls == 4)

    let announced = ListedBody([.success(Data(count: 20_000))])
    let fields = ["Location": "/", "Content-Length": "70000"]
    _ = try await Self.response(302, announced, fields).collect(followsRedirects: true)
    #expect(announced.isCancelled)
    #expect(announced.pulls == 0)
  }

  @Test("A redirect whose body breaks is still a redirect; a cancelled one is cancelled")
  func brokenRedirect() async throws {
    let broken = ListedBody([.failure(URLError(.networkConnectionLost))])
    let fetched = try await Self.response(302, broken, ["Location": "/"]).collect(followsRedirects: true)
    #expect(fetched.head.statusCode == 302)
    let cancelled = ListedBody([.failure(CancellationError())])
    await #expect(throws: CancellationError.self) {
      try await Self.response(302, cancelled, ["Location": "/"]).collect(followsRedirects: true)
    }
  }

  @Test("What is not going to be followed keeps its body")
  func kept() async throws {
    let parts: [Result<Data, any Error>] = [.success(Data("moved".utf8))]
    #expect(try await Self.response(302, ListedBody(parts)).collect(followsRedirects: true).data.count == 5)
    #expect(
      try await Self.response(304, ListedBody(parts), ["Location": "/"]).collect(followsRedirects: true).data.count == 5
    )
    #expect(
      try await Self.response(302, ListedBody(parts), ["Location": "/"]).collect(followsRedirects: false).data.count
        == 5)
    var declined = try Self.response(302, ListedBody(parts), ["Location": "/"])
    declined.redirect = .declined
    #expect(try await declined.collect(followsRedirects: true).data.count == 5)
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

/// A body that hands out what it is given.
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
