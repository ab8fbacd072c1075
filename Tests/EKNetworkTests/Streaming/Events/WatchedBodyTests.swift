import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct WatchedBodyTests {
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

  /// An event that is too long ends the stream, and those who watch it learn that.
  @Test func reasonIsPassedOn() async throws {
    let reason = Locked<(any Error)?>(nil)
    let source = AsyncThrowingStream<Data, any Error> { Data("data: abcdef\n\n".utf8) }
    let observed = ObservedBody(ChunkStreamBody(source)) { _, _, error in reason.withLock { $0 = error } }
    let body = WatchedBody(observed, heartbeat: HeartbeatState(), clock: ManualClock())
    let reader = StreamReader(ReadOnceBody(body), parser: EventStreamParser(maximumSize: 5))
    await #expect(throws: StreamLineTooLongError.self) { try await reader.next() }
    #expect(reason.withLock { $0 } is StreamLineTooLongError)
  }
}
