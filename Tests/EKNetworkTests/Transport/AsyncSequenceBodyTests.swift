import Foundation
import Testing

@testable import EKNetwork

@Suite struct AsyncSequenceBodyTests {
  @Test func secondReaderIsRejected() async throws {
    let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
    let body = AsyncSequenceBody(stream)
    await withTaskGroup(of: Result<Data?, any Error>.self) { readers in
      for _ in 0..<2 {
        readers.addTask {
          do { return .success(try await body.next()) } catch { return .failure(error) }
        }
      }
      // Neither can finish before there are bytes, except with an error.
      let first = await readers.next()
      #expect(throws: ConcurrentReadError.self) { try first?.get() }
      continuation.yield(Data("a".utf8))
      let second = await readers.next()
      #expect((try? second?.get()) == Data("a".utf8))
    }
    continuation.finish()
    #expect(try await body.next() == nil)
  }
}
