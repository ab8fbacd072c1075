import Dispatch
import LoopbackServer
import Testing

@testable import EKNetwork

/// User interfaces send from the main actor. Serialised: one of these tests blocks the main thread.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MainActorTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  /// Decodes as the default does, and records when.
  private struct Timed: NetworkRequest {
    typealias Response = [Item]
    let path = "/items"
    let method = HTTPMethod.get
    let decoding: Locked<Range<ContinuousClock.Instant>?>

    func decodeResponse(data: Data, response: URLResponse) throws -> [Item] {
      let start = ContinuousClock.now
      defer { decoding.withLock { $0 = start..<ContinuousClock.now } }
      return try jsonDecoder.decode([Item].self, from: data)
    }
  }

  /// The longest time that the main actor was blocked during decoding, as a share of the decoding time.
  @MainActor private func standstill(during send: @MainActor (Timed) async throws -> [Item]) async throws -> Double {
    let request = Timed(decoding: Locked(nil))
    let beats = Locked<[ContinuousClock.Instant]>([.now])
    // A timer, not a sleeping task: tests that block the cooperative thread pool must not stop the heartbeat.
    let heart = DispatchSource.makeTimerSource(queue: .main)
    heart.setEventHandler { beats.withLock { $0.append(.now) } }
    heart.schedule(deadline: .now(), repeating: .milliseconds(2), leeway: .milliseconds(1))
    heart.resume()
    let items = try await send(request)
    heart.cancel()
    beats.withLock { $0.append(.now) }
    #expect(items.count == Self.count)
    let decoding = try #require(request.decoding.withLock { $0 })
    let instants = beats.withLock { $0 }
    let longest = zip(instants, instants.dropFirst())
      .filter { $0 < decoding.upperBound && $1 > decoding.lowerBound }
      .map { $1 - $0 }.max()
    return try #require(longest) / (decoding.upperBound - decoding.lowerBound)
  }

  private static let record = #"{"id":1,"name":"\#(String(repeating: "teapot ", count: 28))"},"#
  private static let count = (20 << 20) / record.utf8.count

  @MainActor @Test func largeJSONKeepsMainActorResponsive() async throws {
    let json = "[" + String(repeating: Self.record, count: Self.count).dropLast() + "]"
    server.route("/items") { _ in .json(json) }
    let manager = Wire.automatic.manager(server)
    // The best of several: on a busy machine the heartbeat may stall, but not every time.
    var shortest = Double.infinity
    for _ in 1...5 where shortest > 0.25 {
      shortest = try await min(shortest, standstill { try await manager.send($0) })
    }
    #expect(shortest <= 0.25)
    // Checks the measurement itself: the protocol's `send` decodes on the caller's actor.
    let abstraction: any NetworkManaging = manager
    #expect(try await standstill { try await abstraction.send($0, accessToken: nil) } >= 1)
  }

  @MainActor private struct AtHome: @MainActor NetworkRequest {
    let path = "/items"
    let method = HTTPMethod.get

    func decodeResponse(data: Data, response: URLResponse) throws -> Int {
      MainActor.assertIsolated()
      return data.count
    }
  }

  /// In a module with default main-actor isolation, the conformance of every request is isolated to it.
  @MainActor @Test func mainActorRequestIsDecodedOnMainActor() async throws {
    server.route("/items") { _ in .text("12345") }
    #expect(try await Wire.automatic.manager(server).send(AtHome()) == 5)
  }

  @MainActor @Test func mainActorClosuresRunOnMainActor() async throws {
    var reads = 0
    server.route("/items", .status(500), .json(Item(id: 1)))
    let request = ItemProbe(
      path: "/items",
      retryPolicy: RetryPolicy(
        maxRetryCount: 1, delay: 0,
        shouldRetry: { _ in
          MainActor.assertIsolated()
          return true
        }))
    let item = try await Wire.automatic.manager(server).send(request) {
      MainActor.assertIsolated()
      reads += 1
      return "\(reads)"
    }
    #expect(item == Item(id: 1))
    #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2"])
  }

  /// A synchronous command-line program blocks it like this.
  @MainActor @Test(arguments: Wire.allCases) func requestCompletesWhileMainQueueIsBlocked(_ wire: Wire) {
    server.route("POST", "/items") { _ in .json(Item(id: 1, name: String(repeating: "x", count: 1 << 20))) }
    let manager = wire.manager(server)
    let finished = DispatchSemaphore(value: 0)
    let result = Locked<Result<Item, any Error>?>(nil)
    Task.detached {
      let body = RequestBody(data: Data(count: 1 << 20), contentType: "text/x")
      let request = ItemProbe(path: "/items", method: .post, body: body, progress: NetworkProgress())
      do {
        let item = try await manager.send(request)
        result.withLock { $0 = .success(item) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
      finished.signal()
    }
    #expect(finished.wait(timeout: .now() + 300) == .success)
    #expect(throws: Never.self) { try #require(result.withLock { $0 }).get() }
  }
}
