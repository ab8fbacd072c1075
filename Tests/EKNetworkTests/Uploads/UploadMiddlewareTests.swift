import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct UploadMiddlewareTests {
  typealias Kind = UploadOptions.ResumptionProtocol

  private let folder: ScratchFolder
  private let content = Data.noise(300_000)
  private let file: URL

  init() throws {
    folder = try ScratchFolder()
    file = try folder.file("a.bin", content)
  }

  private func options(_ kind: Kind) -> UploadOptions { UploadOptions(using: kind, state: folder["state"]) }

  private struct Recorder: NetworkMiddleware {
    let name: String
    let seen = Locked<[String]>([])

    func intercept(
      _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
    ) async throws -> NetworkMiddlewareResponse {
      let method = request.httpMethod ?? ""
      var request = request
      request.setValue("1", forHTTPHeaderField: name)
      do {
        let response = try await next(request)
        seen.withLock { $0.append("\(method) \(response.statusCode)") }
        return response
      } catch {
        seen.withLock { $0.append("\(method) failed") }
        throw error
      }
    }
  }

  /// Around calls it sees each attempt as one call, that of the request which creates the upload; around attempts it sees every
  /// request. What either changes of the header fields is sent with all requests.
  @Test(arguments: Wire.allCases, Kind.allCases)
  func middlewareSeesAttemptsAsCallsAndEachRequest(_ wire: Wire, kind: Kind) async throws {
    let server = try UploadServer(kind)
    server.state.withLock { $0.cuts = [100_000] }
    let (call, attempt) = (Recorder(name: "X-Call"), Recorder(name: "X-Attempt"))
    let manager = wire.manager(server.server)
    manager.middleware = [call]
    manager.attemptMiddleware = [attempt]
    let result = try await manager.upload(
      CreateUpload(retryPolicy: .immediate(1)), fromFile: file, options: options(kind))
    let (offset, end) = kind == .tus ? (200, 204) : (204, 200)
    #expect(attempt.seen.withLock { $0 } == ["POST 201", "PATCH failed", "HEAD \(offset)", "PATCH \(end)"])
    #expect(call.seen.withLock { $0 } == ["POST failed", "POST \(end)"])
    #expect(result.response.statusCode == end)
    #expect(server.data == content)
    #expect(server.received == content.count)
    for request in server.server.requests {
      #expect(request.headers["X-Call"] == "1")
      #expect(request.headers["X-Attempt"] == "1")
    }
  }

  /// Middleware that ignores its cancellation is left behind, without the lock.
  @Test func cancelledUploadBehindDeafMiddlewareReleasesItsLock() async throws {
    let server = try UploadServer(.tus)
    let deaf = Deaf()
    defer { deaf.release() }
    let manager = Wire.automatic.manager(server.server)
    manager.middleware = [Intercept.waitingOnce(for: deaf)]
    let (file, options) = (file, options(.tus))
    let first = await endingWhenCancelled(once: deaf.hasBegun) {
      try await manager.upload(CreateUpload(), fromFile: file, options: options)
    }
    #expect(first?.failure is CancellationError)
    _ = try await manager.upload(CreateUpload(), fromFile: file, options: options)
    #expect(server.data == content)
  }

  /// Cancelled, or killed, while the rest of the response that has created it is read.
  @Test func createdUploadIsRememberedWhenCancelled() async throws {
    let server = try UploadServer(.tus)
    let (isRead, never) = (Gate(), Gate())
    // If the rest is no longer waited for by then.
    server.server.route(
      "PATCH", "/files/1",
      onHead: { _ in
        isRead.open()
        return .steps([.stall])
      }
    ) { _ in .status(500) }
    let (location, stateFile) = (server.server.url("/files/1"), folder["state"])
    let left = Locked<UploadRecord?>(nil)
    let manager = Wire.automatic.manager(server.server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        let response = try await next(request)
        guard request.httpMethod == "POST" else { return response }
        let rest = AsyncThrowingStream<Data, any Error> {
          let record = try? JSONDecoder().decode(UploadRecord.self, from: Data(contentsOf: stateFile))
          // Otherwise the next part may have begun.
          if !Task.isCancelled { left.withLock { $0 = record } }
          isRead.open()
          guard await never.wait() else { throw CancellationError() }
          return nil
        }
        return NetworkMiddlewareResponse(
          statusCode: 201, headers: ["Location": location.absoluteString], chunks: rest)
      }
    ]
    let (file, options) = (file, options(.tus))
    let ending = await endingWhenCancelled(once: isRead) {
      try await manager.upload(CreateUpload(), fromFile: file, options: options)
    }
    #expect(ending?.failure is CancellationError)
    let record = try #require(try UploadRecordFile(stateFile).record)
    #expect(record.resource?.url.absoluteString == location.absoluteString)
    // The last part, which is the whole file, was not sent yet.
    #expect(left.withLock { $0 }?.mayBeComplete == nil)
  }

  /// What the server has no longer is cancelled as well, with middleware around the call.
  @Test(arguments: [404, 410])
  func uploadThatIsGoneIsCancelledThroughMiddleware(_ status: Int) async throws {
    let server = try UploadServer(.tus)
    server.state.withLock { state in
      state.cuts = [1_000]
      state.override = { $0.method == "DELETE" ? .status(status) : nil }
    }
    let call = Recorder(name: "X-Call")
    let manager = Wire.automatic.manager(server.server)
    manager.middleware = [call]
    await #expect(throws: URLError.self) {
      try await manager.upload(CreateUpload(), fromFile: file, options: options(.tus))
    }
    #expect(try await !manager.cancelUpload(CreateUpload(), options: options(.tus)))
    #expect(call.seen.withLock { $0.last } == "POST \(status)")
    #expect(server.methods == ["POST", "PATCH", "DELETE"])
    #expect(folder.names == ["a.bin"])
  }

  /// Servers also send fields that a client must not send. By the time middleware sees them, the upload is complete.
  @Test(arguments: Kind.allCases)
  func irregularFieldPassesMiddleware(_ kind: Kind) async throws {
    let server = try UploadServer(kind)
    let state = server.state
    state.withLock {
      $0.override = { request in state.withLock { $0.respond(request, kind) }.header("X-Foo", "a\u{1B}b") }
    }
    let manager = Wire.automatic.manager(server.server)
    manager.middleware = [Intercept { request, _, next in try await next(request) }]
    let result = try await manager.upload(CreateUpload(), fromFile: file, options: options(kind))
    #expect(result.response.value(forHTTPHeaderField: "X-Foo") == "a\u{1B}b")
    #expect(server.methods == ["POST", "PATCH"])
  }

  @Test(arguments: Kind.allCases)
  func responseIsTheSameBehindMiddleware(_ kind: Kind) async throws {
    let passing = Intercept { request, _, next in try await next(request) }
    let changing = Intercept { request, _, next in
      var response = try await next(request)
      response.headers["X-C"] = "4"
      return response
    }
    for middleware in [[], [passing], [changing]] as [[any NetworkMiddleware]] {
      let server = try UploadServer(kind)
      let state = server.state
      state.withLock {
        $0.override = { request in
          state.withLock { $0.respond(request, kind) }.header("X-Part", "1").header("X-Part", "2")
        }
      }
      let manager = Wire.automatic.manager(server.server)
      manager.middleware = middleware
      let result = try await manager.upload(CreateUpload(), fromFile: file, options: options(kind))
      #expect(result.response.url?.path == "/files/1")
      #if os(Linux)
        #expect(result.response.values(for: "X-Part") == ["1", "2"])
        #expect(result.response.protocolVersion == "HTTP/1.1")
      #endif
    }
  }

  #if os(Linux)
    /// A recorder around calls learns of the exchange what the log learns.
    @Test func timingsPassMiddleware() async throws {
      let server = try UploadServer(.tus)
      let recorder = HARRecorder()
      let manager = Wire.automatic.isolatedManager(server.server)
      manager.middleware = [recorder]
      manager.eventHandler = { _ in }
      _ = try await manager.upload(CreateUpload(), fromFile: file, options: options(.tus))
      #expect(try HARProbe.entries(recorder).map(\.serverIPAddress) == ["127.0.0.1"])
    }
  #endif
}
