import Foundation
import Testing

@testable import EKNetwork

struct ReadAheadStateTests {
  private static let ping: [UInt8] = [0x89, 0]
  private let text: [UInt8] = [0x81, 1, 0x61]

  /// The state in a class, so that it can be mutated within expectations.
  private final class Subject {
    private var state = ReadAheadState()
    func hold(_ unscanned: [UInt8]?) -> (controls: [ControlScanner.Control], beginsToRead: Bool) {
      state.hold(unscanned?[...])
    }
    func received(
      _ result: Result<[UInt8], any Error>, isHeld: Bool
    ) -> (controls: [ControlScanner.Control], goesOn: Bool) {
      state.received(result, isHeld: isHeld)
    }
    func take() -> ReadAheadState.Next { state.take() }
    func takeAnsweredPing() -> Bool { state.takeAnsweredPing() }
    var isAtEnd: Bool { state.isAtEnd }
  }

  private let state = Subject()

  private func bytes(_ next: ReadAheadState.Next) -> [UInt8]? {
    if case .bytes(let bytes) = next { bytes } else { nil }
  }

  @Test func pingsAreAnsweredOnceAndMessagesKept() {
    let hold = state.hold(text + Self.ping)
    #expect(hold.controls == [.ping(Data())])
    #expect(hold.beginsToRead)
    var step = state.received(.success(Self.ping + text), isHeld: true)
    #expect(step.controls == [.ping(Data())])
    #expect(step.goesOn)
    // The kept bytes are available at once, although a read is still under way.
    #expect(bytes(state.take()) == Self.ping + text)
    guard case .wait = state.take() else { return #expect(Bool(false), "somebody reads") }
    step = state.received(.success(text), isHeld: false)
    #expect(!step.goesOn)
    #expect(bytes(state.take()) == text)
    guard case .read = state.take() else { return #expect(Bool(false), "nobody reads") }
    #expect(state.takeAnsweredPing())
    #expect(state.takeAnsweredPing())
    #expect(!state.takeAnsweredPing())
  }

  @Test func readAheadStopsAtTheLimit() {
    #expect(state.hold([]).beginsToRead)
    let frame: [UInt8] = [0x82, 127, 0, 0, 0, 0, 0x7F, 0, 0, 0] + [UInt8](repeating: 0, count: 65_526)
    for _ in 0..<3 { #expect(state.received(.success(frame), isHeld: true).goesOn) }
    #expect(!state.received(.success([UInt8](repeating: 0, count: 65_536)), isHeld: true).goesOn)
    #expect(!state.hold(nil).beginsToRead)
    #expect(bytes(state.take())?.count == ReadAheadState.limit)
    #expect(state.hold(nil).beginsToRead)
  }

  @Test func errorComesAfterKeptBytes() {
    _ = state.hold([])
    #expect(state.received(.success(text), isHeld: true).goesOn)
    #expect(!state.received(.failure(ByteTransportError.failed("gone")), isHeld: true).goesOn)
    #expect(!state.hold(nil).beginsToRead)
    #expect(bytes(state.take()) == text)
    guard case .failure = state.take() else { return #expect(Bool(false), "it has ended") }
  }

  /// No pong can arrive after either of them.
  @Test func failureAndCloseFrameAreTheEnd() {
    _ = state.hold([])
    _ = state.received(.success(text), isHeld: true)
    #expect(!state.isAtEnd)
    _ = state.received(.failure(ByteTransportError.failed("gone")), isHeld: true)
    #expect(state.isAtEnd)
    let closed = Subject()
    _ = closed.hold([0x88, 0])
    #expect(closed.isAtEnd)
  }

  @Test func nothingIsReadAfterAClose() {
    #expect(!state.hold([0x88, 0]).beginsToRead)
  }
}
