import Foundation

/// Reads an `InputStream`, which cannot be rewound.
final class InputStreamReader: BlockReader {
  private let stream: InputStream
  private var hasBegun = false

  init(_ stream: InputStream) { self.stream = stream }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
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

  func rewind() {}

  func close() { stream.close() }
}
