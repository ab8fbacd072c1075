import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct WatchedBodyTests {
  /// Three heartbeats shorten the allowed silence, which is five minutes without any.
  @Test func heartbeatsShortenIdleTimeout() async throws {
    let clock = ManualClock()
    let isWaited = Gate()
    let count = Locked(0)
    let (silence, isOver) = AsyncStream<Void>.makeStream()
    defer { isOver.finish() }
    let source = AsyncThrowingStream<Data, any Error> {
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number <= 4 { return Data(":\n\n".utf8) }
      isWaited.open()
      for await _ in silence {}
      return nil
    }
    let body = WatchedBody(ChunkStreamBody(source), heartbeat: HeartbeatState(), clock: clock)
    for _ in 0..<4 {
      #expect(try await body.next() != nil)
      body.receivedComment()
      clock.advance(by: .seconds(10))
    }
    let reader = Task { try await body.next() }
    await isWaited.wait()
    let ticking = Task {
      while !Task.isCancelled {
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        await Task.yield()
      }
    }
    let error = await #expect(throws: URLError.self) { try await reader.value }
    ticking.cancel()
    #expect(error?.code == .timedOut)
    #expect(clock.now.offset < .seconds(120))
  }
}
