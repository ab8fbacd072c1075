import Foundation
import Testing

@testable import EKNetwork

struct InputStreamReaderTests {
  /// Reads a stream of ten bytes through the stream of its request, as a session outside the library does.
  private func read(declared: Int64) -> (bytes: Data, error: RequestBodyError?) {
    let stream = BodyInputStream(.stream(SizedStream(stream: InputStream(data: Data.noise(10)), length: declared)))
    stream.open()
    defer { stream.close() }
    var bytes = Data()
    var buffer = [UInt8](repeating: 0, count: 4)
    while case let count = stream.read(&buffer, maxLength: 4), count > 0 { bytes += buffer[..<count] }
    return (bytes, stream.streamError as? RequestBodyError)
  }

  @Test func streamOfDeclaredLengthIsReadToItsEnd() {
    let (bytes, error) = read(declared: 10)
    #expect(bytes == Data.noise(10))
    #expect(error == nil)
  }

  @Test(
    arguments: [
      (0, 0, 4), (1, 0, 4), (8, 4, 9), (9, 8, 10), (11, 10, 10), (1_000, 10, 10),
    ] as [(Int64, Int, Int64)])
  func blockThatReachesAWrongLengthIsWithheld(declared: Int64, returned: Int, seen: Int64) {
    let (bytes, error) = read(declared: declared)
    #expect(bytes.count == returned)
    #expect(error == .lengthMismatch(declared: declared, actual: seen))
  }

  /// A redirect or a refused expectation leaves the stream to the next request, while the first one is still being closed.
  @Test func unusedReaderLeavesTheStreamToTheNextOne() throws {
    let stream = InputStream(data: Data.noise(10))
    let (unused, reader) = (InputStreamReader(stream, length: 10), InputStreamReader(stream, length: 10))
    var buffer = [UInt8](repeating: 0, count: 4)
    var bytes = Data()
    while case let count = try buffer.withUnsafeMutableBytes({ try reader.read(into: $0) }), count > 0 {
      bytes += buffer[..<count]
      unused.close()
    }
    #expect(bytes == Data.noise(10))
  }

  @Test func emptyStreamMayBeDeclared() throws {
    let reader = InputStreamReader(InputStream(data: Data()), length: 0)
    let count = try withUnsafeTemporaryAllocation(byteCount: 4, alignment: 1) { try reader.read(into: $0) }
    #expect(count == 0)
  }
}
