import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// Only the body of a success counts: that of an error, or of a redirect, is not what was requested.
struct ProgressOnTheWireTests {
  @Test(arguments: Wire.allCases, [302, 401, 503])
  func otherBodiesAreNotCounted(_ wire: Wire, status: Int) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let progress = NetworkProgress()
    let before = Locked<(Double, Int64)?>(nil)
    // In several reads, of which the first would be published at once.
    let first = LoopbackServer.Response.data(Data(count: 100_000), status: status)
      .header("Location", "/other")
    let last: @Sendable (LoopbackServer.Request) -> LoopbackServer.Response = { _ in
      before.withLock { $0 = (progress.fractionCompleted, progress.completedBytes) }
      return .data(Data(count: 10))
    }
    server.route("/other", last)
    let isFirst = Locked(true)
    server.route("/item") { request in
      let isFirst = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      return isFirst ? first : last(request)
    }
    let probe = Probe<StatusCodeResponse>(progress: progress, retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    let manager = wire.manager(server)
    let tokens = TestTokens("old")
    manager.tokenRefresher = tokens
    _ = try await manager.send(probe, accessToken: { tokens.current })
    #if canImport(Combine)
      await MainActor.run {}
    #else
      let seen = try #require(before.withLock { $0 })
      #expect(seen == (0, 0))
    #endif
    #expect(progress.fractionCompleted == 1)
    #expect(progress.completedBytes == 10)
    #expect(progress.totalBytes == 10)
  }

  /// The first attempt breaks off after more bytes than the whole of the second one.
  @Test(arguments: Wire.allCases)
  func bytesAtTheEndAreThoseOfTheLastAttempt(_ wire: Wire) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route(
      "/item",
      .raw([
        .sendString("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), .send(Data(count: 100_000)), .close,
      ]), .data(Data(count: 10)))
    let progress = NetworkProgress()
    let probe = Probe<StatusCodeResponse>(progress: progress, retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    _ = try await wire.manager(server).send(probe)
    #if canImport(Combine)
      await MainActor.run {}
    #endif
    #expect(progress.fractionCompleted == 1)
    #expect(progress.completedBytes == 10)
    #expect(progress.totalBytes == 10)
  }

  /// The first attempt breaks off after the last byte, of which the second one learns.
  @Test func bytesOfACompleteFileAreCounted() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let folder = try ScratchFolder()
    server.route(
      "/file",
      .raw([
        .sendString("HTTP/1.1 200 OK\r\nETag: \"x\"\r\nTransfer-Encoding: chunked\r\n\r\n"),
        .chunk(Data(count: 10)), .close,
      ]), .status(416, headers: ["Content-Range": "bytes */10"]))
    let progress = NetworkProgress()
    let request = FileRequest(progress: progress, retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    let file = try await Wire.automatic.manager(server).download(request, to: folder["a.bin"])
    #expect(file.statusCode == 416)
    #if canImport(Combine)
      await MainActor.run {}
    #endif
    #expect(progress.completedBytes == 10)
    #expect(progress.totalBytes == 10)
  }
}
