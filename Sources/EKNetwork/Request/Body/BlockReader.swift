import Dispatch
import Foundation

/// A body that is read block by block, by a thread that may block.
///
/// One caller at a time.
protocol BlockReader: AnyObject {
  /// Fills the buffer as far as possible; returns 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
  func close()
}

final class SegmentReader: BlockReader {
  private let segments: [BodySegment]
  private var index = 0
  private var offset: Int64 = 0
  private var file: OpenFile?

  init(_ segments: [BodySegment]) { self.segments = segments }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var filled = 0
    while filled < buffer.count, index < segments.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let segment = segments[index]
      let count =
        switch segment {
        case .data(let data): read(data, into: rest)
        case .file(let segment): try read(segment, into: rest)
        }
      filled += count
      offset += Int64(count)
      if offset >= segment.length {
        index += 1
        offset = 0
        file = nil
      }
    }
    return filled
  }

  func close() { file = nil }

  /// Writes the rest to a file; `check` may end that before each block. Returns the `errno` of a file that cannot be written
  /// to.
  func copy(to copy: OpenFile, _ check: () throws -> Void = {}) throws -> Int32? {
    var block = [UInt8](repeating: 0, count: 256 * 1024)
    while true {
      try check()
      let count = try block.withUnsafeMutableBytes { try read(into: $0) }
      guard count > 0 else { return nil }
      guard copy.append(Data(block[..<count])) else { return errno }
    }
  }

  private func read(_ data: Data, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let start = Int(offset)
    let count = min(buffer.count, data.count - start)
    guard count > 0 else { return 0 }
    data.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<(start + count)])) }
    return count
  }

  private func read(_ segment: FileSegment, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let file = try file ?? segment.open()
    self.file = file
    let wanted = Int(min(Int64(buffer.count), segment.size - offset))
    guard wanted > 0 else { return 0 }
    var count: Int
    repeat {
      count = pread(file.descriptor, buffer.baseAddress, wanted, off_t(segment.start + offset))
    } while count < 0 && errno == EINTR
    guard count >= 0 else { throw RequestBodyError.fileNotReadable(segment.url, code: errno) }
    // The last bytes are only returned if the file is still the one announced: a server must not mistake half of a new
    // version, or the beginning of a longer one, for the file.
    if count == 0 || offset + Int64(count) >= segment.size { try segment.check(file) }
    guard count > 0 else {
      throw RequestBodyError.fileChanged(
        segment.url, announced: segment.start + segment.size, actual: segment.start + offset)
    }
    return count
  }
}

/// Reads an `InputStream`, which can be read once, and throws an error if it has another length than declared.
final class InputStreamReader: BlockReader {
  private let stream: InputStream
  private let declared: Int64?
  private var count: Int64 = 0
  private var hasBegun = false
  private var isAtEnd = false

  init(_ stream: InputStream, length: Int64? = nil) { (self.stream, declared) = (stream, length) }

  /// Returns the block that completes the declared length only if nothing follows it: a server must not receive a body
  /// that looks complete but is not.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let declared else { return try readStream(into: buffer) }
    guard !isAtEnd else { return 0 }
    let block = try readStream(into: buffer)
    count += Int64(block)
    guard block == 0 || count >= declared else { return block }
    if block > 0, count == declared {
      let surplus = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { try readStream(into: $0) }
      count += Int64(surplus)
    }
    guard count == declared else { throw RequestBodyError.lengthMismatch(declared: declared, actual: count) }
    isAtEnd = true
    return block
  }

  private func readStream(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if !hasBegun {
      // The rest of a stream that was read before must not pass for the whole body.
      guard stream.streamStatus == .notOpen else { throw URLError(.requestBodyStreamExhausted) }
      hasBegun = true
      stream.open()
    }
    guard let base = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
    let count = stream.read(base, maxLength: buffer.count)
    guard count >= 0 else {
      // FoundationNetworking's streams crash when `streamError` is read and there is none.
      throw stream.streamStatus == .error
        ? stream.streamError ?? URLError(.cannotOpenFile) : URLError(.requestBodyStreamExhausted)
    }
    return count
  }

  /// A stream from which nothing was read may have another reader by now: that of the request which a redirect, or an
  /// expectation that was not met, has led to.
  func close() { if hasBegun { stream.close() } }
}

/// Reads an asynchronous sequence on a blocking thread, for sessions that only support streams.
final class SequenceReader: BlockReader {
  private let puller: BodyPuller
  /// What the request is part of, and so is the sequence.
  private let enclosing = EnclosingWork.current
  private var piece = Data()
  private var task: Task<Void, Never>?
  private let start: (@escaping @Sendable () async -> Void) -> Task<Void, Never>

  init(_ puller: BodyPuller) {
    self.puller = puller
    // The caller may be on a thread of the cooperative pool, and so may all others that block here.
    if #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) {
      let executor = QueueExecutor(label: "EKNetwork.Sequence")
      start = { Task(executorPreference: executor, operation: $0) }
    } else {
      start = { Task(operation: $0) }
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if piece.isEmpty { piece = try nextPiece() ?? Data() }
    let count = min(piece.count, buffer.count)
    guard count > 0 else { return 0 }
    piece.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    piece = piece.dropFirst(count)
    return count
  }

  func close() { task?.cancel() }

  private func nextPiece() throws -> Data? {
    let result = Locked<Result<Data?, any Error>>(.success(nil))
    let isThere = DispatchSemaphore(value: 0)
    task = start { [puller, enclosing] in
      do {
        let piece = try await EnclosingWork.continuing(enclosing) { try await puller.next() }
        result.withLock { $0 = .success(piece) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
      isThere.signal()
    }
    isThere.wait()
    return try result.withLock { $0 }.get()
  }
}
