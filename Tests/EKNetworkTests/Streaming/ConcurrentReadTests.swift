import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// Two loops over one response: the second fails, the first continues and loses nothing.
@Suite(.timeLimit(.minutes(10))) struct ConcurrentReadTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  /// The lines that a loop received, and the error that ended it.
  private func read(_ response: StreamingResponse) async -> (lines: [String], error: (any Error)?) {
    var lines: [String] = []
    do {
      for try await line in response.lines() { lines.append(line) }
      return (lines, nil)
    } catch {
      return (lines, error)
    }
  }

  private func check(_ response: StreamingResponse, goOn: () -> Void) async throws {
    var first = response.body.lines().makeAsyncIterator()
    #expect(try await first.next() == "a")
    // Between two reads, as a loop that processes its element.
    let (stolen, error) = await read(response)
    #expect(stolen.isEmpty)
    #expect(error as? ConcurrentReadError == ConcurrentReadError())
    await #expect(throws: ConcurrentReadError.self) { for try await _ in response.chunks {} }
    goOn()
    #expect(try await first.next() == "b")
    #expect(try await first.next() == "c")
    #expect(try await first.next() == nil)
  }

  @Test(arguments: Wire.allCases)
  func secondLoopOnTheWireFails(_ wire: Wire) async throws {
    let gate = Gate()
    server.route("/item") { _ in .streaming(contentLength: 6, [.sendString("a\nb"), .wait(gate), .sendString("\nc\n")])
    }
    try await check(try await wire.manager(server).stream(Probe<EmptyResponse>())) { gate.open() }
  }

  @Test func secondLoopOverInjectedStreamFails() async throws {
    let (stream, continuation) = AsyncThrowingStream<Data, Error>.makeStream()
    continuation.yield(Data("a\nb".utf8))
    try await check(StreamingResponse(statusCode: 200, headers: [:], chunks: stream)) {
      continuation.yield(Data("\nc\n".utf8))
      continuation.finish()
    }
  }

  @Test(arguments: Wire.allCases)
  func secondLoopFailsWhileFirstWaits(_ wire: Wire) async throws {
    let hasRead = Gate()
    let gate = Gate()
    server.route("/item") { _ in .streaming(contentLength: 4, [.sendString("a\n"), .wait(gate), .sendString("b\n")]) }
    let response = try await wire.manager(server).stream(Probe<EmptyResponse>())
    let lines = response.body.lines()
    let first = Task {
      var all: [String] = []
      for try await line in lines {
        all.append(line)
        hasRead.open()
      }
      return all
    }
    #expect(await hasRead.wait())
    // Over another sequence it fails at once; over the same one, only if both read at once.
    #expect(await read(response).error is ConcurrentReadError)
    gate.open()
    #expect(try await first.value == ["a", "b"])
    #expect(await read(response).error == nil, "at the end there is nothing to be lost")
  }

  @Test func firstLoopCanStillBeCancelled() async throws {
    server.route("/item") { _ in .streaming(contentLength: 1_000, [.sendString("a\n"), .stall]) }
    let response = try await Wire.automatic.manager(server).stream(Probe<EmptyResponse>())
    let hasRead = Gate()
    let first = Task { for try await _ in response.lines() { hasRead.open() } }
    #expect(await hasRead.wait())
    #expect(await read(response).error is ConcurrentReadError)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(await server.waitForOpenConnections(0))
  }

  /// Many readers of a compressed body: one gets all of it, the others nothing.
  @Test func compressedBodyHasOneReader() async throws {
    let text = String(repeating: "the quick brown fox\n", count: 20_000)
    let body = try Bomb.gzip(Data(text.utf8))
    server.route("/item") { _ in .data(body).header("Content-Encoding", "gzip") }
    let response = try await Wire.automatic.manager(server).stream(Probe<EmptyResponse>())
    let counts = await withTaskGroup(of: Int?.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var count = 0
          do {
            for try await chunk in response.body { count += chunk.count }
            return count
          } catch is ConcurrentReadError {
            return count
          } catch {
            Issue.record(error)
            return nil
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1 ?? -1) }
    }
    #expect(counts.sorted() == [0, 0, 0, 0, 0, 0, 0, text.utf8.count])
  }
}
