import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(5))) struct UploadSourceTests {
  /// Returns blocks of the same byte, and counts them.
  private final class CountedReader: BlockReader, Sendable {
    let count = Locked(0)
    private let byte: UInt8
    private let onRead: @Sendable (_ count: Int) -> Void

    init(_ byte: UInt8 = 0, onRead: @escaping @Sendable (_ count: Int) -> Void = { _ in }) {
      self.byte = byte
      self.onRead = onRead
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      onRead(count.withLock { $0.increment() })
      buffer.copyBytes(from: repeatElement(byte, count: buffer.count))
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
    let upload = BodySource.sequence(SequenceBody(pieces, length: nil)).makeUpload()
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
    let upload = BodySource.sequence(body).makeUpload()
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
    let upload = ReadAheadUpload(
      length: nil, isReplayable: false, ReaderFeed(reader, length: nil, queue: queue))
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

  /// The connection is lost while the disk is slow: the next one must not get a block twice.
  @Test func blockThatWasReadBeforeARewindIsDiscarded() async throws {
    let (isReading, mayGoOn) = (Gate(), Gate())
    let queue = DispatchQueue(label: "UploadSourceTests")
    let passes = Locked<UInt8>(0)
    let upload = ReadAheadUpload(
      length: nil, isReplayable: true,
      {
        let pass = passes.withLock { $0.increment() }
        guard pass == 1 else { return ReaderFeed(CountedReader(pass), length: nil) }
        let reader = CountedReader(pass) { count in
          guard count == 4 else { return }
          isReading.open()
          mayGoOn.waitBlocking(timeout: .seconds(600))
        }
        return ReaderFeed(reader, length: nil, queue: queue)
      }())
    let (ready, signal) = AsyncStream<Void>.makeStream()
    upload.setReadyHandler { signal.yield() }
    func read() async -> UInt8? {
      var buffer = [UInt8](repeating: 0, count: 256 * 1024)
      while true {
        switch buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) {
        case .bytes: return buffer.first
        case .end, .failed: return nil
        case .pending: for await _ in ready { break }
        }
      }
    }
    #expect(await read() == 1)
    #expect(await isReading.wait())
    #expect(upload.rewind())
    #expect(await read() == 2)
    mayGoOn.open()
    queue.sync {}
    for _ in 0..<8 { #expect(await read() == 2) }
    upload.close()
  }

  /// The request to which a redirect has led may send it.
  @Test func streamIsNotOpenedOnceItsUploadIsClosed() throws {
    let stream = InputStream(data: Data("abc".utf8))
    let queue = DispatchQueue(label: "UploadSourceTests")
    let upload = ReadAheadUpload(
      length: 3, isReplayable: false, ReaderFeed(InputStreamReader(stream, length: 3), length: 3, queue: queue))
    var buffer = [UInt8](repeating: 0, count: 8)
    queue.suspend()
    let result = buffer.withUnsafeMutableBytes { upload.read(into: $0) }
    upload.close()
    queue.resume()
    queue.sync {}
    #expect(stream.streamStatus == .notOpen)
    guard case .pending = result else { throw NetworkError.invalidResponse }
  }
}
