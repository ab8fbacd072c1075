#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  @Suite(.serialized, .timeLimit(.minutes(10))) struct QueueExecutorTests {
    /// More concurrent readers than the pool has threads, each waiting for a task of its own.
    @Test func sequenceStreamBlocksNoPoolThread() async throws {
      let count = 4 * ProcessInfo.processInfo.activeProcessorCount
      let sums = await withTaskGroup(of: Int.self) { group in
        for _ in 0..<count {
          group.addTask {
            let chunks = AsyncStream<Data> { continuation in
              for _ in 0..<100 { continuation.yield(Data(count: 10)) }
              continuation.finish()
            }
            let stream = BodyInputStream(.sequence(SequenceBody(chunks, length: nil)))
            stream.open()
            defer { stream.close() }
            var sum = 0
            var buffer = [UInt8](repeating: 0, count: 64)
            while case let read = stream.read(&buffer, maxLength: buffer.count), read > 0 { sum += read }
            return sum
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(sums == Array(repeating: 1_000, count: count))
    }

    private actor Writer {
      private let executor = QueueExecutor(label: "EKNetwork.Test")
      nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

      func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }
    }

    @Test func waitingActorBlocksNoPoolThread() async throws {
      let count = 4 * ProcessInfo.processInfo.activeProcessorCount
      let semaphore = DispatchSemaphore(value: 0)
      let waiting = (0..<count).map { _ in Task { await Writer().wait(for: semaphore) } }
      // On the pool, behind all of them.
      await Task.detached { for _ in 0..<count { semaphore.signal() } }.value
      for task in waiting { await task.value }
    }
  }
#endif
