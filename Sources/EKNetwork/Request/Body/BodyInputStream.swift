import Dispatch
import Foundation

/// A ``BodySource`` as the stream that `URLRequest` requires. The library's own transport extracts the source; other
/// code that receives the request, such as a mock session, reads it like any other stream.
final class BodyInputStream: InputStream {
  let source: BodySource
  private var reader: (any BlockReader)?
  private var status = Status.notOpen
  private var failure: (any Error)?

  init(_ source: BodySource) {
    self.source = source
    super.init(data: Data())
  }

  /// A new, unopened stream of the same body.
  var unread: BodyInputStream { BodyInputStream(source) }

  override var streamStatus: Status { status }
  override var streamError: (any Error)? { failure }
  override var hasBytesAvailable: Bool { status == .open }

  override func open() {
    guard status == .notOpen else { return }
    do {
      reader =
        switch source {
        case .segments(let segments): SegmentReader(segments)
        case .stream(let stream): SizedStreamReader(stream)
        case .sequence(let sequence): SequenceReader(try sequence.start())
        }
      status = .open
    } catch {
      fail(error)
    }
  }

  override func close() {
    reader?.close()
    reader = nil
    status = .closed
  }

  /// Returns to the first byte: opening the stream again reads the whole body. Only called if the source is replayable,
  /// and while nothing reads the stream.
  func rewind() {
    reader?.close()
    (reader, status, failure) = (nil, .notOpen, nil)
  }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    guard status == .open, let reader else { return status == .error ? -1 : 0 }
    do {
      let count = try reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: len))
      if count == 0 { status = .atEnd }
      return count
    } catch {
      fail(error)
      return -1
    }
  }

  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
  ) -> Bool { false }

  private func fail(_ error: any Error) {
    failure = error
    status = .error
  }
}
