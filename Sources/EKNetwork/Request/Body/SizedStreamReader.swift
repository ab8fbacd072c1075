import Foundation

/// Reads a stream of declared length, and throws an error if it has another one.
final class SizedStreamReader: BlockReader {
  private let reader: InputStreamReader
  private let declared: Int64
  private var count: Int64 = 0
  private var isAtEnd = false

  init(_ stream: SizedStream) {
    reader = InputStreamReader(stream.stream)
    declared = stream.length
  }

  /// Returns the block that completes the declared length only if nothing follows it: a server must not receive a body
  /// that looks complete but is not.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard !isAtEnd else { return 0 }
    let block = try reader.read(into: buffer)
    count += Int64(block)
    guard block == 0 || count >= declared else { return block }
    if block > 0, count == declared {
      let surplus = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { try reader.read(into: $0) }
      count += Int64(surplus)
    }
    guard count == declared else { throw RequestBodyError.lengthMismatch(declared: declared, actual: count) }
    isAtEnd = true
    return block
  }

  func rewind() {}

  func close() { reader.close() }
}
