import Foundation

/// A request body as the wire takes it: piece by piece, and again from the start where that is possible.
///
/// `read` and `rewind` are called from one thread, the event loop's, and must not block.
protocol UploadSource: AnyObject, Sendable {
  /// The exact number of bytes, where it is known.
  var length: Int64? { get }
  /// Fills the buffer as far as it can.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead
  /// Goes back to the first byte. `false` when that is not possible.
  func rewind() -> Bool
  /// Called when `read` has returned `.pending` and there is something to read now.
  func setReadyHandler(_ handler: @escaping @Sendable () -> Void)
  /// Nothing more will be read.
  func close()
}

extension UploadSource {
  func setReadyHandler(_ handler: @escaping @Sendable () -> Void) {}
  func close() {}
}

/// What a read of an ``UploadSource`` gave.
enum UploadRead {
  case bytes(Int)
  case end
  /// Nothing yet: the ready handler will be called.
  case pending
  case failed(any Error)
}
