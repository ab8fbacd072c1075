import Foundation
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(5))) struct UploadSourceTests {
  /// Counts the blocks that are read from it.
  private final class CountedReader: BlockReader, Sendable {
    let count = Locked(0)

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      count.withLock { $0 += 1 }
      return buffer.count
    }
    func close() {}
  }

  /// A connection may be lost before it has taken anything: the request is sent over another one.
  @Test func bodyThatCanBeSentOnceRewindsUntilItIsHandedOn() async throws {
    let pieces = AsyncStream<Data> { continuation in
      continuation.yield(Data("abc".utf8))
      continuation.finish()
    }
    let upload = SequenceUpload(SequenceBody(pieces, length: nil))
    let (ready, signal) = AsyncStream<Void>.makeStream()
    upload.setReadyHandler { signal.yield() }
    var buffer = [UInt8](repeating: 0, count: 8)
    #expect(upload.rewind())
    guard case .pending = buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) else {
      throw NetworkError.invalidResponse
    }
    for await _ in ready { break }
    #expect(upload.rewind())
    guard case .bytes(3) = buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) else {
      throw NetworkError.invalidResponse
    }
    #expect(!upload.rewind())
    upload.close()
  }

  /// An event loop reads the body, and has other requests.
  @Test func readingDoesNotWaitForTheCodeThatMakesTheSequence() async throws {
    let hasReturned = DispatchSemaphore(value: 0)
    let wasInTime = Locked(false)
    let body = SequenceBody(length: nil) {
      let isInTime = hasReturned.wait(timeout: .now() + 5) == .success
      wasInTime.withLock { $0 = isInTime }
      return AsyncStream<Data> { $0.finish() }
    }
    let upload = SequenceUpload(body)
    let (ready, signal) = AsyncStream<Void>.makeStream()
    upload.setReadyHandler { signal.yield() }
    var buffer = [UInt8](repeating: 0, count: 8)
    guard case .pending = buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) else {
      throw NetworkError.invalidResponse
    }
    hasReturned.signal()
    for await _ in ready { break }
    #expect(wasInTime.withLock { $0 })
    upload.close()
  }

  /// A block that has been taken makes room for another one, although there still are blocks after it.
  @Test func threeBlocksAreReadAhead() throws {
    let reader = CountedReader()
    let queue = DispatchQueue(label: "UploadSourceTests")
    let upload = ReadAheadUpload(reader, length: nil, isReplayable: false, queue: queue)
    var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    guard case .pending = buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) else {
      throw NetworkError.invalidResponse
    }
    // Each read begins the next one.
    for _ in 0..<8 { queue.sync {} }
    #expect(reader.count.withLock { $0 } == 3)
    guard case .bytes(buffer.count) = buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) else {
      throw NetworkError.invalidResponse
    }
    for _ in 0..<8 { queue.sync {} }
    #expect(reader.count.withLock { $0 } == 4)
    upload.close()
  }
}
