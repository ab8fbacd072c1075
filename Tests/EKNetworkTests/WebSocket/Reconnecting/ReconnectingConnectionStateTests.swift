import Foundation
import Testing

@testable import EKNetwork

struct ReconnectingConnectionStateTests {
  @Test("Pending messages are limited in number and bytes; a single one may be larger")
  func bounds() {
    var state = ReconnectingConnectionState(maximumCount: 2, maximumBytes: 10)
    func enter(_ size: Int) -> Bool { state.enter(size) }
    #expect(enter(1000))
    #expect(!enter(0), "the first takes more than all the room")
    state.leave(1000)
    #expect(enter(4))
    #expect(!enter(7))
    #expect(enter(6))
    #expect(!enter(0), "two are kept already")
    state.leave(4)
    #expect(enter(4))
  }

  @Test("Senders take turns in order, and closing fails the waiting and later ones")
  func turns() async throws {
    let state = Locked(ReconnectingConnectionState(maximumCount: 10, maximumBytes: 10))
    let order = Locked<[Int]>([])
    @Sendable func turn(_ number: Int) async throws {
      try await withCheckedThrowingContinuation { (turn: ReconnectingConnectionState.Turn) in
        switch state.withLock({ $0.takeTurn(UInt64(number), turn) }) {
        case .now: turn.resume()
        case .fail(let error): turn.resume(throwing: error)
        case .wait: break
        }
      }
      order.withLock { $0.append(number) }
    }
    try await turn(0)
    #expect(state.withLock { $0.turns.passOn() } == nil)
    try await turn(1)
    // Tasks start in no defined order: each starts once the one before it is queued.
    let second = Task { try await turn(2) }
    while state.withLock({ $0.turns.count }) < 1 { await Task.yield() }
    let third = Task { try await turn(3) }
    while state.withLock({ $0.turns.count }) < 2 { await Task.yield() }
    state.withLock { $0.turns.passOn() }?.resume()
    try await second.value
    let code = WebSocketCloseCode(rawValue: 4000)
    state.withLock { $0.close(code, "over") }.resume()
    await #expect(throws: WebSocketError.closed(code: code, reason: "over")) { try await third.value }
    // A second call changes nothing, nor does the end.
    state.withLock { $0.close(.goingAway) }.resume()
    state.withLock { $0.finish(nil) }.resume()
    await #expect(throws: WebSocketError.closed(code: code, reason: "over")) { try await turn(4) }
    #expect(order.withLock { $0 } == [0, 1, 2])
  }

  @Test("After the end, sending throws its error, and a kept message can still be received")
  func ending() async throws {
    let state = Locked(ReconnectingConnectionState(maximumCount: 10, maximumBytes: 10))
    let hasRoom = await withCheckedContinuation { (deliverer: ReconnectingConnectionState.Deliverer) in
      // There is no connection, so it is one that is left of a lost connection.
      guard case .done(let hasRoom) = state.withLock({ $0.deliver(.text("kept"), deliverer) }) else {
        Issue.record("It waits")
        return
      }
      deliverer.resume(returning: hasRoom)
    }
    #expect(hasRoom)
    state.withLock { $0.close(.normalClosure) }.resume()
    state.withLock { $0.finish(WebSocketError.timedOut) }.resume()
    func receive() async throws -> WebSocketMessage? {
      try await withCheckedThrowingContinuation { continuation in
        let (outcome, deliverer) = state.withLock { $0.receive(1, continuation) }
        #expect(deliverer == nil)
        if outcome.resume(continuation) { continuation.resume(returning: nil) }
      }
    }
    #expect(try await receive() == .text("kept"))
    await #expect(throws: WebSocketError.timedOut) { try await receive() }
    await #expect(throws: WebSocketError.timedOut) {
      try await withCheckedThrowingContinuation { (waiter: ReconnectingConnectionState.LinkWaiter) in
        if case .fail(let error) = state.withLock({ $0.awaitLink(waiter) }) { waiter.resume(throwing: error) }
      } as WebSocket
    }
  }

  @Test("What is left of lost connections is kept in order, up to a total size")
  func leftMessages() async throws {
    let state = Locked(ReconnectingConnectionState(maximumCount: 10, maximumBytes: 10))
    func deliver(_ message: WebSocketMessage) async -> Bool {
      await withCheckedContinuation { (deliverer: ReconnectingConnectionState.Deliverer) in
        guard case .done(let hasRoom) = state.withLock({ $0.deliver(message, deliverer) }) else {
          return deliverer.resume(returning: false)
        }
        deliverer.resume(returning: hasRoom)
      }
    }
    #expect(await deliver(.text("a")))
    #expect(await deliver(.binary(Data(count: 16 << 20))))
    #expect(await deliver(.text("b")) == false, "there is no room")
    func receive() async throws -> WebSocketMessage? {
      try await withCheckedThrowingContinuation { continuation in
        if case (.now(let message), nil) = state.withLock({ $0.receive(1, continuation) }) {
          continuation.resume(returning: message)
        } else {
          continuation.resume(returning: nil)
        }
      }
    }
    #expect(try await receive() == .text("a"))
    #expect(try await receive() == .binary(Data(count: 16 << 20)))
    #expect(await deliver(.text("c")))
    #expect(try await receive() == .text("c"))
  }
}
