import Foundation
import Testing

@testable import EKNetwork

/// What holds for chunks, ``ChunkStreamBody``, and for bytes, ``ByteStreamBody``.
struct ChunkStreamBodyTests {
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

  @Test func chunkIsTakenWhenItIsAskedFor() async throws {
    let produced = Locked<UInt8>(0)
    let body = ChunkStreamBody(
      AsyncThrowingStream {
        produced.withLock { produced in
          produced += 1
          return Data([produced])
        }
      })
    #expect(produced.withLock { $0 } == 0)
    for count: UInt8 in 1...3 {
      #expect(try await body.next() == Data([count]))
      #expect(produced.withLock { $0 } == count)
    }
  }

  @Test(arguments: [true, false]) func failureIsNoEndAfterwards(isOfBytes: Bool) async throws {
    let (body, yield, finish) = isOfBytes ? bytes(URLError(.timedOut)) : chunks(URLError(.timedOut))
    yield()
    finish()
    #expect(try await body.next() == Data("a".utf8))
    for _ in 0..<2 { await #expect(throws: URLError.self) { try await body.next() } }
  }

  private typealias Source = (body: any TransportBody, yield: @Sendable () -> Void, finish: @Sendable () -> Void)

  private func chunks(_ error: URLError? = nil) -> Source {
    let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
    return (ChunkStreamBody(stream), { continuation.yield(Data("a".utf8)) }, { continuation.finish(throwing: error) })
  }

  private func bytes(_ error: URLError? = nil) -> Source {
    let (stream, continuation) = AsyncThrowingStream<UInt8, any Error>.makeStream()
    return (ByteStreamBody(stream), { continuation.yield(UInt8(ascii: "a")) }, { continuation.finish(throwing: error) })
  }
}
