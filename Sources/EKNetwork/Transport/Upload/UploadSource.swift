import Foundation

/// A request body that is read piece by piece, and again from the start if that is possible.
///
/// `read` and `rewind` are called on the event loop's thread and must not block.
protocol UploadSource: AnyObject, Sendable {
  /// The exact number of bytes, if it is known.
  var length: Int64? { get }
  /// Whether it is declared to be empty, but not known to be: it has to be read, and `length` is `nil` then.
  var isDeclaredEmpty: Bool { get }
  /// Fills as much of the buffer as is possible without waiting.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead
  /// The lines of the trailer fields, once `read` has returned `.end`; empty if there are none.
  var trailers: [UInt8] { get }
  /// Rewinds to the first byte. Returns `false` if that is not possible.
  func rewind() -> Bool
  /// Sets a handler that is called when `read` has returned `.pending` and there is something to read.
  func setReadyHandler(_ handler: @escaping @Sendable () -> Void)
  /// Closes the source, from which nothing more will be read.
  func close()
}

extension UploadSource {
  var isDeclaredEmpty: Bool { false }
  var trailers: [UInt8] { [] }
  func setReadyHandler(_ handler: @escaping @Sendable () -> Void) {}
  func close() {}
}

/// The result of a read of an ``UploadSource``.
enum UploadRead {
  case bytes(Int)
  case end
  /// Nothing is available yet: the ready handler will be called.
  case pending
  case failed(any Error)
}

/// A body in memory. It is sent without copying it first, and any number of times.
final class DataUpload: UploadSource, @unchecked Sendable {
  // Unchecked: `offset` belongs to the thread that holds the event loop's turn, the only one to call `read` and
  // `rewind`.
  private let data: Data
  private var offset = 0

  init(_ data: Data) { self.data = data }

  var length: Int64? { Int64(data.count) }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    let count = min(buffer.count, data.count - offset)
    guard count > 0 else { return .end }
    data.withUnsafeBytes { bytes in
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)]))
    }
    offset += count
    return .bytes(count)
  }

  func rewind() -> Bool {
    offset = 0
    return true
  }
}

extension BodySource {
  func makeUpload() -> any UploadSource {
    switch self {
    case .segments(let segments):
      return ReadAheadUpload(
        length: length, isMeasured: true, isReplayable: true, ReaderFeed(SegmentReader(segments), length: length))
    case .stream(let sized): return ReadAheadUpload(sized.stream, length: sized.length)
    case .sequence(let body):
      // It is pulled on the event loop's thread, but is part of what the request is part of.
      let enclosing = EnclosingWork.current
      return ReadAheadUpload(
        length: body.length, isReplayable: body.isReplayable, piecesAhead: 0,
        SequenceFeed(body, enclosing: enclosing))
    }
  }
}

extension ReadAheadUpload {
  convenience init(_ stream: InputStream, length: Int64?) {
    self.init(
      length: length, isReplayable: false, ReaderFeed(InputStreamReader(stream, length: length), length: length))
  }
}
