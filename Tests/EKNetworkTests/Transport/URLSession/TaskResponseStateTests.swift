import Foundation
import Testing

@testable import EKNetwork

@Suite("Task response state")
struct TaskResponseStateTests {
  private static let url = URL(string: "http://127.0.0.1/")

  private func response(_ status: Int) throws -> HTTPURLResponse {
    let url = try #require(Self.url)
    return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil))
  }

  private func state(limit: Int = 100, overflow: TaskResponseState.Overflow = .fail) -> TaskResponseState {
    TaskResponseState(limit: limit, overflow: overflow)
  }

  private func status(_ head: Result<TaskResponseState.Head, any Error>?) throws -> Int? {
    try (head?.get().response as? HTTPURLResponse)?.statusCode
  }

  @Test("The head goes to a waiting caller, or is kept for a later one")
  func head() throws {
    var waited = state()
    #expect(waited.awaitHead() == nil)
    #expect(try status(waited.receive(try response(200), holding: false).head) == 200)
    #expect(waited.complete(nil, fallback: nil).head == nil)

    var early = state()
    #expect(early.receive(try response(200), holding: false).head == nil)
    #expect(try status(early.awaitHead()) == 200)
  }

  @Test("Bytes go to a waiting consumer, or are buffered and returned joined")
  func bytes() throws {
    var state = state()
    _ = state.receive(try response(200), holding: false)
    #expect(state.pull().result == nil)
    #expect(try state.receive(Data("a".utf8)).body?.get() == Data("a".utf8))
    #expect(state.receive(Data("b".utf8)).body == nil)
    #expect(state.receive(Data("c".utf8)).body == nil)
    #expect(try state.pull().result?.get() == Data("bc".utf8))
    _ = state.complete(nil, fallback: nil)
    #expect(try state.pull().result?.get() == .some(nil))
    #expect(state.received == 3)
  }

  @Test("A consumer that is always one chunk behind receives everything in order")
  func lagging() throws {
    var state = state(limit: 1 << 30)
    _ = state.receive(try response(200), holding: false)
    let chunk = Data(count: TaskResponseState.largestChunk - 1)
    _ = state.receive(Data([0]) + chunk)
    for index in 1...3_000 {
      _ = state.receive(Data([UInt8(truncatingIfNeeded: index)]) + chunk)
      #expect(try state.pull().result?.get()?.first == UInt8(truncatingIfNeeded: index - 1))
    }
    // The chunks that it has taken are moved out in time.
    let kept = try #require(Mirror(reflecting: state).descendant("chunks") as? [Data])
    #expect(kept.count < 1_100)
  }

  @Test("Chunks are joined as long as the result is not too large")
  func joining() throws {
    var state = state(limit: 1 << 30)
    _ = state.receive(try response(200), holding: false)
    let half = Data(count: TaskResponseState.largestChunk / 2)
    for _ in 0..<3 { _ = state.receive(half) }
    #expect(try state.pull().result?.get()?.count == TaskResponseState.largestChunk)
    #expect(try state.pull().result?.get()?.count == half.count)
  }

  @Test("A failure does not withdraw the head from a caller that comes later")
  func failureAfterHead() throws {
    var state = state()
    _ = state.receive(try response(200), holding: false)
    _ = state.fail(URLError(.timedOut))
    #expect(try status(state.awaitHead()) == 200)
    #expect(throws: URLError(.timedOut)) { try state.pull().result?.get() }
  }

  @Test("A waiting consumer receives the end")
  func end() throws {
    var state = state()
    _ = state.receive(try response(200), holding: false)
    #expect(state.pull().result == nil)
    let effects = state.complete(nil, fallback: nil)
    #expect(effects.isOver)
    #expect(try effects.body?.get() == .some(nil))
  }

  @Test("Bytes received before a connection failure are delivered first")
  func failureAfterBytes() throws {
    var state = state()
    _ = state.receive(try response(200), holding: false)
    _ = state.receive(Data("a".utf8))
    _ = state.complete(URLError(.networkConnectionLost), fallback: nil)
    #expect(try state.pull().result?.get() == Data("a".utf8))
    #expect(throws: URLError(.networkConnectionLost)) { try state.pull().result?.get() }
  }

  @Test("Cancelling drops the buffer, even of a finished exchange")
  func cancel() throws {
    var running = state()
    _ = running.receive(try response(200), holding: false)
    _ = running.receive(Data("a".utf8))
    let effects = running.cancel()
    #expect(effects.cancelsTask && effects.isOver)
    #expect(throws: CancellationError.self) { try running.pull().result?.get() }

    var finished = state()
    _ = finished.receive(try response(200), holding: false)
    _ = finished.receive(Data("a".utf8))
    _ = finished.complete(nil, fallback: nil)
    #expect(!finished.cancel().cancelsTask)
    #expect(throws: CancellationError.self) { try finished.pull().result?.get() }
  }

  @Test("What has arrived can be read after the exchange was ended for a reader that reads on")
  func stopReceiving() throws {
    var waiting = state()
    _ = waiting.receive(try response(200), holding: false)
    _ = waiting.receive(Data("a".utf8))
    let effects = waiting.stopReceiving()
    #expect(effects.cancelsTask && effects.isOver)
    _ = waiting.receive(Data("b".utf8))
    #expect(try waiting.pull().result?.get() == Data("a".utf8))
    #expect(throws: CancellationError.self) { try waiting.pull().result?.get() }

    var awaited = state()
    _ = awaited.receive(try response(200), holding: false)
    #expect(awaited.pull().result == nil)
    #expect(throws: CancellationError.self) { try awaited.stopReceiving().body?.get() }
  }

  @Test("Cancelling fails both waiters")
  func cancelWaiters() throws {
    var state = state()
    #expect(state.awaitHead() == nil)
    #expect(state.pull().result == nil)
    let effects = state.cancel()
    #expect(throws: CancellationError.self) { try effects.head?.get() }
    #expect(throws: CancellationError.self) { try effects.body?.get() }
  }

  @Test("Above the limit the task is suspended once, and resumed at half")
  func suspend() throws {
    var state = state(limit: 100, overflow: .suspend)
    _ = state.receive(try response(200), holding: false)
    let large = Data(count: TaskResponseState.largestChunk)
    #expect(state.receive(large).suspendsTask)
    #expect(!state.receive(Data(count: 60)).suspendsTask)
    #expect(state.pull().effects.resumesTask == false)
    let last = state.pull()
    #expect(last.effects.resumesTask)
    #expect(try last.result?.get()?.count == 60)

    var exact = self.state(limit: 2 * TaskResponseState.largestChunk, overflow: .suspend)
    _ = exact.receive(try response(200), holding: false)
    #expect(!exact.receive(large).suspendsTask)
    #expect(!exact.receive(large).suspendsTask)
    #expect(exact.receive(large).suspendsTask)
    #expect(!exact.pull().effects.resumesTask)
    #expect(exact.pull().effects.resumesTask)
    #expect(!exact.pull().effects.resumesTask, "it is not suspended any more")
  }

  @Test("Above the limit the exchange fails if it cannot be suspended")
  func overflow() throws {
    var state = state(limit: 100)
    _ = state.receive(try response(200), holding: false)
    #expect(!state.receive(Data(count: 100)).cancelsTask)
    #expect(state.receive(Data(count: 1)).cancelsTask)
    #expect(throws: URLError(.dataLengthExceedsMaximum)) { try state.pull().result?.get() }
  }

  @Test("A rejected challenge becomes the response, with its body")
  func rejectedChallenge() throws {
    var state = state()
    #expect(state.awaitHead() == nil)
    #expect(state.receive(try response(401), holding: true).head == nil)
    #expect(state.receive(Data("no".utf8)).head == nil)
    state.rejectChallenge()
    let effects = state.complete(URLError(.cancelled), fallback: nil)
    #expect(try status(effects.head) == 401)
    #expect(try state.pull().result?.get() == Data("no".utf8))
    #expect(try state.pull().result?.get() == .some(nil))
  }

  @Test("The response of an answered challenge is discarded")
  func answeredChallenge() throws {
    var state = state()
    #expect(state.awaitHead() == nil)
    _ = state.receive(try response(401), holding: true)
    _ = state.receive(Data("no".utf8))
    state.restart()
    #expect(!state.isHeadHeld)
    #expect(try status(state.receive(try response(200), holding: false).head) == 200)
    _ = state.receive(Data("yes".utf8))
    #expect(try state.pull().result?.get() == Data("yes".utf8))
    #expect(state.received == 3)
  }

  @Test("A task without a response fails with badServerResponse unless it has a fallback")
  func silentEnd() throws {
    var silent = state()
    #expect(silent.awaitHead() == nil)
    #expect(throws: URLError(.badServerResponse)) { try silent.complete(nil, fallback: nil).head?.get() }

    var knowing = state()
    #expect(knowing.awaitHead() == nil)
    #expect(try status(knowing.complete(nil, fallback: try response(302)).head) == 302)
  }

  @Test("Events after the end are ignored")
  func late() throws {
    var state = state()
    #expect(!state.isOver)
    _ = state.cancel()
    #expect(state.isOver)
    #expect(state.receive(try response(200), holding: false).head == nil)
    #expect(state.receive(Data("a".utf8)).body == nil)
    #expect(!state.complete(nil, fallback: nil).isOver)
    #expect(!state.fail(URLError(.timedOut)).cancelsTask)
    #expect(throws: CancellationError.self) { try state.awaitHead()?.get() }
  }
}
