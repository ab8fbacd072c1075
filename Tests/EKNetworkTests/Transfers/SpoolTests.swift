import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

struct SpoolTests {
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

  @Test func cancelledSequenceIsNotTakenForComplete() async throws {
    let sequence = EndedByCancellation()
    let spooling = Task { try await SequenceBody(sequence, length: nil).spooled() }
    #expect(await sequence.isWaiting.wait())
    spooling.cancel()
    await #expect(throws: CancellationError.self) { _ = try await spooling.value }
  }
}

/// Yields one piece, and ends when the task is cancelled, as an `AsyncStream` does.
private struct EndedByCancellation: AsyncSequence, Sendable {
  let isWaiting = Gate()

  func makeAsyncIterator() -> Iterator { Iterator(isWaiting: isWaiting) }

  struct Iterator: AsyncIteratorProtocol {
    let isWaiting: Gate
    var isFirst = true

    mutating func next() async -> Data? {
      guard !isFirst else {
        isFirst = false
        return Data("a".utf8)
      }
      isWaiting.open()
      // Never opened: this ends when the task is cancelled.
      await Gate().wait(timeout: .seconds(600))
      return nil
    }
  }
}
