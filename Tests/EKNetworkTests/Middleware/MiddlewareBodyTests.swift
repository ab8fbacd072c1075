import LoopbackServer
import Testing

@testable import EKNetwork

/// What the caller gets of a response whose body middleware has read.
struct MiddlewareBodyTests {
  private static let json = Data(#"{"id":1,"name":"teapot"}"#.utf8)
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { _ in .data(Self.json) }
    server.route("/empty") { _ in .status(204) }
  }

  enum Reading: CaseIterable, Sendable {
    case all, allTwice, allThenData, half, dataThenAll, dataThenHalf, nothing, dataTooLong

    /// Whether the caller still gets the body.
    var keepsBody: Bool { [.dataThenAll, .dataThenHalf, .nothing].contains(self) }
  }

  enum Kind: CaseIterable, Sendable { case send, stream, download, adapter }

  private func middleware(_ reading: Reading) -> Intercept {
    Intercept { request, _, next in
      var response = try await next(request)
      switch reading {
      case .all: for try await _ in response.body {}
      case .allTwice: for _ in 0..<2 { for try await _ in response.body {} }
      case .allThenData:
        for try await _ in response.body {}
        _ = try await response.data()
      case .half: for try await _ in response.body { break }
      case .dataThenAll:
        let data = try await response.data()
        for try await chunk in response.body { #expect(chunk == data) }
      case .dataThenHalf:
        _ = try await response.data()
        for try await _ in response.body { break }
      case .dataTooLong: _ = try? await response.data(maximumSize: 1)
      case .nothing: break
      }
      return response
    }
  }

  private func load(
    _ kind: Kind, _ calls: [any NetworkMiddleware], _ attempts: [any NetworkMiddleware], path: String = "/item"
  ) async throws -> Data {
    if kind == .adapter {
      let adapter = PrismNetworkAdapter.forTests()
      (adapter.middleware, adapter.attemptMiddleware) = (calls, attempts)
      return try await PrismNetworkFailure.detailed {
        try await adapter.request(on: LocalRequest<Data>(server.endpoint { $0.path = path }), with: nil)
      }
    }
    let manager = Wire.automatic.manager(server)
    (manager.middleware, manager.attemptMiddleware) = (calls, attempts)
    let probe = Probe<Data>(path: path)
    switch kind {
    case .send, .adapter: return try await manager.send(probe)
    case .stream:
      var data = Data()
      for try await chunk in try await manager.stream(probe).body { data += chunk }
      return data
    case .download:
      let folder = try ScratchFolder()
      return try Data(contentsOf: try await manager.download(probe, to: folder["a"]).url)
    }
  }

  @Test(arguments: Kind.allCases, Reading.allCases)
  func readBodyIsWholeOrError(_ kind: Kind, _ reading: Reading) async throws {
    for isAttempt in [false, true] {
      // Around a call, a response of `send` is complete and one of `download` is in its file.
      let mayKeepBody = !isAttempt && kind != .stream
      let middleware = middleware(reading)
      do {
        let data = try await load(kind, isAttempt ? [] : [middleware], isAttempt ? [middleware] : [])
        #expect(reading.keepsBody || mayKeepBody, "\(isAttempt)")
        #expect(data == Self.json, "\(isAttempt)")
      } catch {
        #expect(!reading.keepsBody, "\(isAttempt): \(error)")
        let cause = (error as? PrismNetworkFailure)?.underlyingError ?? error
        #expect(
          cause as? NetworkMiddlewareError == .invalidResponse || cause is ResponseLimitError, "\(isAttempt): \(cause)")
      }
    }
  }

  /// There is nothing to miss in a body without bytes.
  @Test(arguments: [Kind.stream, .download, .adapter], Reading.allCases)
  func emptyBodyIsWhole(_ kind: Kind, _ reading: Reading) async throws {
    #expect(try await load(kind, [], [middleware(reading)], path: "/empty").isEmpty)
  }

  /// A response that middleware keeps, for example as a cache, serves any number of requests.
  @Test(arguments: Kind.allCases, [false, true])
  func keptResponseServesManyRequests(_ kind: Kind, isRead: Bool) async throws {
    let kept = Locked<NetworkMiddlewareResponse?>(
      isRead ? nil : NetworkMiddlewareResponse(statusCode: 200, data: Self.json))
    let keeping = Intercept { request, _, next in
      if let response = kept.withLock({ $0 }) { return response }
      var response = try await next(request)
      _ = try await response.data()
      kept.withLock { [response] in $0 = response }
      return response
    }
    for _ in 0..<3 { #expect(try await load(kind, [], [keeping]) == Self.json) }
    #expect(server.requestCount == (isRead ? 1 : 0))
  }

  /// A body that arrives while it is read serves one request; a reader that comes later gets nothing of it.
  @Test(arguments: [false, true]) func returnedBodyHasOneReader(isRepeated: Bool) async throws {
    let kept = Locked<NetworkMiddlewareResponse?>(nil)
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        if isRepeated, let response = kept.withLock({ $0 }) { return response }
        let response = try await next(request)
        kept.withLock { $0 = response }
        return response
      }
    ]
    #expect(try await manager.send(Probe<Data>()) == Self.json)
    if isRepeated {
      await #expect(throws: NetworkMiddlewareError.invalidResponse) { try await manager.send(Probe<Data>()) }
    } else {
      var response = try #require(kept.withLock { $0 })
      await #expect(throws: ConcurrentReadError.self) { try await response.data() }
    }
  }
}
