import LoopbackServer
import Testing

@testable import EKNetwork

struct ByteStreamBodyTests {
  private typealias Bytes = AsyncThrowingStream<UInt8, any Error>

  @Test func bytesThatHaveArrivedAreOneChunk() async throws {
    let (stream, continuation) = Bytes.makeStream()
    let body = ByteStreamBody(stream)
    let expected = Data.noise(5 * ByteStreamBody.limit + 1)
    for byte in expected { continuation.yield(byte) }
    continuation.finish()
    var (chunks, data) = (0, Data())
    while let chunk = try await body.next() {
      #expect(!chunk.isEmpty && chunk.count <= ByteStreamBody.limit)
      chunks += 1
      data.append(chunk)
      if data.count < expected.count { await body.waitUntilFull() }
    }
    #expect(data == expected && chunks == 6)
  }

  @Test func byteIsNotDelayed() async throws {
    let (stream, continuation) = Bytes.makeStream()
    let body = ByteStreamBody(stream)
    for byte in UInt8(0)..<100 {
      continuation.yield(byte)
      #expect(try await body.next() == Data([byte]))
    }
    continuation.finish()
    #expect(try await body.next() == nil)
    #expect(try await body.next() == nil)
  }

  @Test func errorFollowsBytes() async throws {
    let stream = Bytes { continuation in
      for byte in UInt8(0)..<200 { continuation.yield(byte) }
      continuation.finish(throwing: URLError(.networkConnectionLost))
    }
    let body = ByteStreamBody(stream)
    var count = 0
    let error = await #expect(throws: URLError.self) {
      while let chunk = try await body.next() { count += chunk.count }
    }
    #expect(error?.code == .networkConnectionLost && count == 200)
  }

  @Test func producerWaitsForConsumer() async throws {
    let produced = Locked(0)
    let stream = Bytes {
      produced.withLock { produced in
        produced += 1
        return UInt8(truncatingIfNeeded: produced)
      }
    }
    let body = ByteStreamBody(stream)
    #expect(produced.withLock { $0 } == 0, "nothing is read before the first call")
    _ = try await body.next()
    await body.waitUntilFull()
    let count = produced.withLock { $0 }
    #expect(count <= ByteStreamBody.limit + 1)
    body.cancel()
    await #expect(throws: CancellationError.self) { _ = try await body.next() }
  }

  @Test func aReaderThatReadsOnGetsWhatHasArrived() async throws {
    let (stream, continuation) = Bytes.makeStream()
    let body = ByteStreamBody(stream)
    for _ in 0..<2 * ByteStreamBody.limit { continuation.yield(1) }
    _ = try await body.next()
    await body.waitUntilFull()
    body.stopReceiving()
    #expect(try await body.next()?.count == ByteStreamBody.limit)
    await #expect(throws: CancellationError.self) { _ = try await body.next() }
  }

  enum Ending: CaseIterable { case cancelledBody, cancelledTask, releasedBody, unreadBody }

  @Test(arguments: Ending.allCases) func producerIsTold(_ ending: Ending) async throws {
    let ended = Gate()
    var (body, continuation) = makeBody { ended.open() }
    if ending != .unreadBody {
      continuation?.yield(1)
      #expect(try await body?.next() == Data([1]))
    }
    continuation = nil
    switch ending {
    case .cancelledBody: body?.cancel()
    case .releasedBody, .unreadBody: body = nil
    case .cancelledTask:
      let reader = Task { [body] in try await body?.next() }
      reader.cancel()
      await #expect(throws: CancellationError.self) { _ = try await reader.value }
      // The task may not have begun to wait.
      body = nil
    }
    #expect(await ended.wait())
  }

  private func makeBody(onEnd: @escaping @Sendable () -> Void) -> (ByteStreamBody?, Bytes.Continuation?) {
    let (stream, continuation) = Bytes.makeStream()
    continuation.onTermination = { _ in onEnd() }
    return (ByteStreamBody(stream), continuation)
  }
}

extension ByteStreamBody {
  /// Waits until the task that reads ahead has got as far as it may.
  fileprivate func waitUntilFull() async {
    while bufferedCount < Self.limit { await Task.yield() }
  }
}
