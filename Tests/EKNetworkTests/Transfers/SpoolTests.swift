import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

@Suite struct SpoolTests {
  private struct Pieces: AsyncSequence, Sendable {
    var pieces: [Data]
    let pulls = Locked(0)

    func makeAsyncIterator() -> Iterator { Iterator(rest: pieces[...], pulls: pulls) }

    struct Iterator: AsyncIteratorProtocol {
      var rest: ArraySlice<Data>
      let pulls: Locked<Int>

      mutating func next() async -> Data? {
        pulls.withLock { $0 += 1 }
        return rest.popFirst()
      }
    }
  }

  /// The disk may be slow: the queue waits for it, and no thread of the cooperative pool.
  @Test func filesAreWrittenOnTheQueue() async throws {
    let queue = BlockingQueue(label: "test")
    let (isBusy, mayGoOn) = (Gate(), Gate())
    let busy = Task {
      await queue.run {
        isBusy.open()
        mayGoOn.waitBlocking(timeout: .seconds(600))
      }
    }
    #expect(await isBusy.wait())
    let pieces = Pieces(pieces: [Data("a".utf8), Data(), Data("bc".utf8)])
    let spooling = Task { try await SequenceBody(pieces, length: nil).spooled(on: queue) }
    for _ in 0..<1_000 { await Task.yield() }
    #expect(pieces.pulls.withLock { $0 } == 0)
    mayGoOn.open()
    await busy.value
    let segment = try await spooling.value
    #expect(pieces.pulls.withLock { $0 } == 4)
    #expect(segment.size == 3)
  }
}
