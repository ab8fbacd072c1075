import Foundation

/// A body that is read block by block, by a thread that may wait for it.
///
/// One caller at a time.
protocol BlockReader: AnyObject {
  /// Fills the buffer as far as it can; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
  /// Goes back to the first byte. Only called where the body is replayable.
  func rewind()
  /// Nothing more will be read.
  func close()
}
