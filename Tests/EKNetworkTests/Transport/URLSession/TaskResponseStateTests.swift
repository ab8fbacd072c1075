import Foundation
import Testing

@testable import EKNetwork

@Suite("Task response state")
struct TaskResponseStateTests {
  private typealias State = TaskResponseState<String, String>

  private static let url = URL(string: "http://127.0.0.1/")

  private func response(_ status: Int) throws -> HTTPURLResponse {
    let url = try #require(Self.url)
    return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil))
  }

  private func state(limit: Int = 100, overflow: State.Overflow = .fail) -> State {
    State(limit: limit, overflow: overflow)
  }

  private func status(_ head: Result<ResponseHead, any Error>?) throws -> Int? { try head?.get().statusCode }

  /// Returns `nil` if the consumer has to wait, and a missing value at the end.
  private func bytes(_ pull: State.Queue.Pull?) throws -> Data?? {
    switch pull {
    case .chunk(let data, _)?: data
    case .failure(let error)?: throw error
    case nil: nil
    }
  }

  private func resumes(_ pull: State.Queue.Pull?) -> Bool {
    if case .chunk(_, resumes: true)? = pull { true } else { false }
  }

  @Test("The head goes to a waiting caller, or is kept for a later one")
  func head() throws {
    var waited = state()
    #expect(waited.waitForHead("a") == nil)
    let effects = waited.receive(try response(200), holding: false)
    #expect(try effects.delivery.head?.waiter == "a" && status(effects.delivery.head?.result) == 200)
    #expect(waited.complete(nil, fallback: nil).delivery.head == nil)

    var early = state()
    #expect(early.receive(try response(200), holding: false).delivery.head == nil)
    #expect(try status(early.waitForHead("a")) == 200)
  }

  @Test("Bytes go to a waiting consumer, or are buffered and returned joined")
  func bytes() throws {
    var state = state()
    _ = state.receive(try response(200), holding: false)
    #expect(try bytes(state.next("a")) == nil)
    #expect(try state.receive(Data("a".utf8)).delivery.chunk?.result.get() == Data("a".utf8))
    #expect(state.receive(Data("b".utf8)).delivery.chunk == nil)
    #expect(state.receive(Data("c".utf8)).delivery.chunk == nil)
    #expect(try bytes(state.next("a")) == Data("bc".utf8))
    _ = state.complete(nil, fallback: nil)
    #expect(try bytes(state.next("a")) == .some(nil))
    #expect(state.received == 3)
  }

  @Test("A consumer that is always one chunk behind receives everything in order, and what it has read does not count")
  func lagging() throws {
    let size = 100_000
    var state = state(limit: 2 * size)
    _ = state.receive(try response(200), holding: false)
    _ = state.receive(Data([0]) + Data(count: size - 1))
    for index in 1...300 {
      #expect(!state.receive(Data([UInt8(truncatingIfNeeded: index)]) + Data(count: size - 1)).cancelsTask)
      #expect(try bytes(state.next("a"))??.first == UInt8(truncatingIfNeeded: index - 1))
    }
  }

  @Test("A failure does not withdraw the head from a caller that comes later")
  func failureAfterHead() throws {
    var state = state()
    _ = state.receive(try response(200), holding: false)
    _ = state.fail(URLError(.timedOut))
    #expect(try status(state.waitForHead("a")) == 200)
    #expect(throws: URLError(.timedOut)) { try bytes(state.next("a")) }
  }

  @Test("A waiting consumer receives the end")
  func end() throws {
    var state = state()
    _ = state.receive(try response(200), holding: false)
    #expect(try bytes(state.next("a")) == nil)
    let effects = state.complete(nil, fallback: nil)
    #expect(effects.isOver)
    #expect(try effects.delivery.chunk?.result.get() == .some(nil))
  }

  @Test("Bytes received before a connection failure are delivered first")
  func failureAfterBytes() throws {
    var state = state()
    _ = state.receive(try response(200), holding: false)
    _ = state.receive(Data("a".utf8))
    _ = state.complete(URLError(.networkConnectionLost), fallback: nil)
    #expect(try bytes(state.next("a")) == Data("a".utf8))
    #expect(throws: URLError(.networkConnectionLost)) { try bytes(state.next("a")) }
  }

  @Test("Cancelling drops the buffer, even of a finished exchange")
  func cancel() throws {
    var running = state()
    _ = running.receive(try response(200), holding: false)
    _ = running.receive(Data("a".utf8))
    let effects = running.cancel()
    #expect(effects.cancelsTask && effects.isOver)
    #expect(throws: CancellationError.self) { try bytes(running.next("a")) }

    var finished = state()
    _ = finished.receive(try response(200), holding: false)
    _ = finished.receive(Data("a".utf8))
    _ = finished.complete(nil, fallback: nil)
    #expect(!finished.cancel().cancelsTask)
    #expect(throws: CancellationError.self) { try bytes(finished.next("a")) }
  }

  @Test("What has arrived can be read after the exchange was ended for a reader that reads on")
  func stopReceiving() throws {
    var waiting = state()
    _ = waiting.receive(try response(200), holding: false)
    _ = waiting.receive(Data("a".utf8))
    let effects = waiting.stopReceiving()
    #expect(effects.cancelsTask && effects.isOver)
    _ = waiting.receive(Data("b".utf8))
    #expect(try bytes(waiting.next("a")) == Data("a".utf8))
    #expect(throws: CancellationError.self) { try bytes(waiting.next("a")) }

    var awaited = state()
    _ = awaited.receive(try response(200), holding: false)
    #expect(try bytes(awaited.next("a")) == nil)
    #expect(throws: CancellationError.self) { try awaited.stopReceiving().delivery.chunk?.result.get() }
  }

  @Test("Cancelling fails both waiters")
  func cancelWaiters() throws {
    var state = state()
    #expect(state.waitForHead("a") == nil)
    #expect(try bytes(state.next("b")) == nil)
    let delivery = state.cancel().delivery
    #expect(delivery.head?.waiter == "a" && delivery.chunk?.waiter == "b")
    #expect(throws: CancellationError.self) { try delivery.head?.result.get() }
    #expect(throws: CancellationError.self) { try delivery.chunk?.result.get() }
  }

  @Test("At the limit the task is suspended once, and resumed at half")
  func suspend() throws {
    var state = state(limit: 100, overflow: .suspend)
    _ = state.receive(try response(200), holding: false)
    let large = Data(count: 256 * 1024)
    #expect(state.receive(large).delivery.pauses && state.isSuspended)
    #expect(!state.receive(Data(count: 60)).delivery.pauses)
    #expect(!resumes(state.next("a")) && state.isSuspended)
    let last = state.next("a")
    #expect(resumes(last) && !state.isSuspended)
    #expect(try bytes(last)??.count == 60)

    var exact = self.state(limit: 2 * large.count + 1, overflow: .suspend)
    _ = exact.receive(try response(200), holding: false)
    #expect(!exact.receive(large).delivery.pauses)
    #expect(!exact.receive(large).delivery.pauses)
    #expect(exact.receive(large).delivery.pauses)
    #expect(!resumes(exact.next("a")))
    #expect(resumes(exact.next("a")))
    #expect(!resumes(exact.next("a")), "it is not suspended any more")
  }

  @Test("Above the limit the exchange fails if it cannot be suspended")
  func overflow() throws {
    var state = state(limit: 100)
    _ = state.receive(try response(200), holding: false)
    #expect(!state.receive(Data(count: 100)).cancelsTask)
    #expect(state.receive(Data(count: 1)).cancelsTask)
    #expect(throws: URLError(.dataLengthExceedsMaximum)) { try bytes(state.next("a")) }
  }

  @Test("A rejected challenge becomes the response, with its body")
  func rejectedChallenge() throws {
    var state = state()
    #expect(state.waitForHead("a") == nil)
    #expect(state.receive(try response(401), holding: true).delivery.head == nil)
    #expect(state.receive(Data("no".utf8)).delivery.head == nil)
    state.rejectChallenge()
    let effects = state.complete(URLError(.cancelled), fallback: nil)
    #expect(try status(effects.delivery.head?.result) == 401)
    #expect(try bytes(state.next("a")) == Data("no".utf8))
    #expect(try bytes(state.next("a")) == .some(nil))
  }

  @Test("The response of an answered challenge is discarded")
  func answeredChallenge() throws {
    var state = state()
    #expect(state.waitForHead("a") == nil)
    _ = state.receive(try response(401), holding: true)
    _ = state.receive(Data("no".utf8))
    state.restart()
    #expect(!state.isHeadHeld)
    #expect(try status(state.receive(try response(200), holding: false).delivery.head?.result) == 200)
    _ = state.receive(Data("yes".utf8))
    #expect(try bytes(state.next("a")) == Data("yes".utf8))
    #expect(state.received == 3)
  }

  @Test("A task without a response fails with badServerResponse unless it has a fallback")
  func silentEnd() throws {
    var silent = state()
    #expect(silent.waitForHead("a") == nil)
    #expect(throws: URLError(.badServerResponse)) {
      try silent.complete(nil, fallback: nil).delivery.head?.result.get()
    }

    var knowing = state()
    #expect(knowing.waitForHead("a") == nil)
    #expect(try status(knowing.complete(nil, fallback: try response(302)).delivery.head?.result) == 302)
  }

  @Test("Events after the end are ignored")
  func late() throws {
    var state = state()
    #expect(!state.isOver)
    _ = state.cancel()
    #expect(state.isOver)
    #expect(state.receive(try response(200), holding: false).delivery.head == nil)
    #expect(state.receive(Data("a".utf8)).delivery.chunk == nil)
    #expect(!state.complete(nil, fallback: nil).isOver)
    #expect(!state.fail(URLError(.timedOut)).cancelsTask)
    #expect(throws: CancellationError.self) { try state.waitForHead("a")?.get() }
  }
}
