import Foundation
import Testing

@testable import EKNetwork

/// What holds for chunks, ``ChunkStreamBody``, and for bytes, ``ByteStreamBody``.
@Suite struct ChunkStreamBodyTests {
  @Test(arguments: [true, false]) func secondReaderIsRejected(isOfBytes: Bool) async throws {
    let (body, yield, finish) = isOfBytes ? bytes() : chunks()
    await withTaskGroup(of: Result<Data?, any Error>.self) { readers in
      for _ in 0..<2 {
        readers.addTask {
          do { return .success(try await body.next()) } catch { return .failure(error) }
        }
      }
      // Neither can finish before there are bytes, except with an error.
      let first = await readers.next()
      #expect(throws: ConcurrentReadError.self) { try first?.get() }
      yield()
      let second = await readers.next()
      #expect((try? second?.get()) == Data("a".utf8))
    }
    finish()
    #expect(try await body.next() == nil)
  }

  private typealias Source = (body: any TransportBody, yield: @Sendable () -> Void, finish: @Sendable () -> Void)

  private func chunks() -> Source {
    let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
    return (ChunkStreamBody(stream), { continuation.yield(Data("a".utf8)) }, { continuation.finish() })
  }

  private func bytes() -> Source {
    let (stream, continuation) = AsyncThrowingStream<UInt8, any Error>.makeStream()
    return (ByteStreamBody(stream), { continuation.yield(UInt8(ascii: "a")) }, { continuation.finish() })
  }
}
