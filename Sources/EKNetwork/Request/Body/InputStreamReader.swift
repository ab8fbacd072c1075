import Foundation

/// Reads an `InputStream`. It cannot go back.
final class InputStreamReader: BlockReader {
  private let stream: InputStream
  private var hasBegun = false

  init(_ stream: InputStream) { self.stream = stream }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if !hasBegun {
      // What is left of one that was read before would pass for the whole.
      guard stream.streamStatus == .notOpen else { throw URLError(.requestBodyStreamExhausted) }
      hasBegun = true
      stream.open()
    }
    guard let base = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
    let count = stream.read(base, maxLength: buffer.count)
    guard count >= 0 else {
      // FoundationNetworking's streams crash when they are asked for an error that they have not.
      throw stream.streamStatus == .error
        ? stream.streamError ?? URLError(.cannotOpenFile) : URLError(.requestBodyStreamExhausted)
    }
    return count
  }

  func rewind() {}

  func close() { stream.close() }
}
