import Foundation

/// Reads the segments of a body in order.
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

  func rewind() {
    index = 0
    offset = 0
    file = nil
  }

  func close() { file = nil }

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
