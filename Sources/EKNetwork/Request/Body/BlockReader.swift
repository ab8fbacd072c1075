import Foundation

/// A body that is read block by block, by a thread that may block.
///
/// One caller at a time.
protocol BlockReader: AnyObject {
  /// Fills the buffer as far as possible; returns 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
  /// Returns to the first byte. Only called if the body is replayable.
  func rewind()
  /// Ends reading.
  func close()
}
