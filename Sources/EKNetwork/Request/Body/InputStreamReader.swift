import Foundation

/// Reads an `InputStream`. It cannot go back.
final class InputStreamReader: BlockReader {
  private let stream: InputStream

  init(_ stream: InputStream) { self.stream = stream }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if stream.streamStatus == .notOpen { stream.open() }
    guard let base = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
    let count = stream.read(base, maxLength: buffer.count)
    guard count >= 0 else { throw stream.streamError ?? URLError(.requestBodyStreamExhausted) }
    return count
  }

  func rewind() {}

  func close() { stream.close() }
}
