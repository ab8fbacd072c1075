import Dispatch
import LoopbackServer
import Testing

@testable import EKNetwork

/// User interfaces send from the main actor. Serialised: one of these tests blocks the main thread.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MainActorTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  private struct Timed: NetworkRequest {
    /// Records when it is decoded.
    struct Response: Decodable {
      let items: [Item]
      let decoding: Range<ContinuousClock.Instant>

      init(from decoder: any Decoder) throws {
        let start = ContinuousClock.now
        items = try [Item](from: decoder)
        decoding = start..<ContinuousClock.now
      }
    }

    let path = "/items"
    let method = HTTPMethod.get
  }

  /// The longest time that the main actor was blocked during decoding, as a share of the decoding time.
  @MainActor private func standstill(
    during send: @MainActor (Timed) async throws -> Timed.Response
  ) async throws -> Double {
    let beats = Locked<[ContinuousClock.Instant]>([.now])
    // A timer, not a sleeping task: tests that block the cooperative thread pool must not stop the heartbeat.
    let heart = DispatchSource.makeTimerSource(queue: .main)
    heart.setEventHandler { beats.withLock { $0.append(.now) } }
    heart.schedule(deadline: .now(), repeating: .milliseconds(2), leeway: .milliseconds(1))
    heart.resume()
    let response = try await send(Timed())
    heart.cancel()
    beats.withLock { $0.append(.now) }
    #expect(response.items.count == Self.count)
    let decoding = response.decoding
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

  /// Used by one actor alone.
  private final class Counting: NetworkRequest {
    let path = "/items"
    let method = HTTPMethod.get
    private var count = 0

    func decodeResponse(data: Data, response: URLResponse) throws -> Int {
      MainActor.assertIsolated()
      count += 1
      return count
    }
  }

  private struct Handling: NetworkRequest {
    typealias Response = Int
    let path = "/empty"
    let method = HTTPMethod.get
    let emptyResponseHandler: ((HTTPURLResponse) throws -> Int)?
  }

  /// Its actor may use it again while it is suspended.
  @MainActor @Test func codeOfTheRequestRunsOnMainActor() async throws {
    server.route("/items") { _ in .text("0") }
    server.route("/empty") { _ in .status(204) }
    let manager = Wire.automatic.manager(server)
    let counting = Counting()
    for expected in 1...3 { #expect(try await manager.send(counting) == expected) }
    var count = 0
    let handling = Handling { _ in
      MainActor.assertIsolated()
      count += 1
      return count
    }
    #expect(try await manager.send(handling) == 1)
    #expect(try await manager.decodedResponse(to: handling).value == 2)
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
