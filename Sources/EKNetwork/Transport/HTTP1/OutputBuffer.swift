/// The bytes of a request that have yet to be sent: its head, and one piece of its body at a time. A small body is sent
/// with the head.
struct OutputBuffer {
  /// How much of a body is read at a time.
  static let pieceSize = 64 * 1024
  /// The space before a chunk for its size, and after it for its line end (RFC 9112 §7.1).
  private static let margins = (before: 16, after: 2)

  private var bytes: [UInt8] = []
  private var start = 0

  var isEmpty: Bool { start == bytes.count }

  /// The bytes to send next.
  var pending: ArraySlice<UInt8> { bytes[start...] }

  mutating func append(_ more: [UInt8]) {
    if isEmpty {
      bytes = more
      start = 0
    } else {
      bytes += more
    }
  }

  mutating func sent(_ count: Int) {
    start = min(start + count, bytes.count)
    if isEmpty { removeAll() }
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: bytes.capacity <= 4096)
    start = 0
  }

  /// Reads the next piece of a body into the buffer: at most `limit` bytes, in a chunk if the length of the body is not
  /// known. Only the head may be in it, and only if the length is known.
  mutating func fill(
    upTo limit: Int64, isChunked: Bool, _ read: (UnsafeMutableRawBufferPointer) -> UploadRead
  ) -> UploadRead {
    let size = Int(min(limit, Int64(Self.pieceSize)))
    let head = Array(pending)
    let (before, after) = isChunked ? Self.margins : (head.count, 0)
    var result = UploadRead.pending
    var first = 0
    bytes = [UInt8](unsafeUninitializedCapacity: before + size + after) { buffer, count in
      if !isChunked {
        _ = buffer[..<before].initialize(fromContentsOf: head)
        count = before
      }
      let space = UnsafeMutableRawBufferPointer(buffer)[before..<(before + size)]
      result = read(UnsafeMutableRawBufferPointer(rebasing: space))
      // A chunk of no bytes would end the body.
      guard case .bytes(let length) = result, length > 0, length <= size else { return }
      count = before + length + after
      guard isChunked else { return }
      let sizeLine = Array("\(String(length, radix: 16))\r\n".utf8)
      first = before - sizeLine.count
      buffer[..<first].initialize(repeating: 0)
      _ = buffer[first..<before].initialize(fromContentsOf: sizeLine)
      _ = buffer[(before + length)..<count].initialize(fromContentsOf: "\r\n".utf8)
    }
    start = first
    return result
  }

  /// Appends the last chunk and the trailer section (RFC 9112 §7.1.2).
  ///
  /// - Parameter trailers: The lines of the fields.
  mutating func appendLastChunk(trailers: [UInt8] = []) { append(Array("0\r\n".utf8) + trailers + Array("\r\n".utf8)) }
}
