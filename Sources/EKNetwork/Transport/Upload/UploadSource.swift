import Foundation

/// A request body that is read piece by piece, and again from the start if that is possible.
///
/// `read` and `rewind` are called on the event loop's thread and must not block.
protocol UploadSource: AnyObject, Sendable {
  /// The exact number of bytes, if it is known.
  var length: Int64? { get }
  /// Whether it is declared to be empty, but not known to be: it has to be read, and `length` is `nil` then.
  var isDeclaredEmpty: Bool { get }
  /// Fills as much of the buffer as is possible without waiting.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead
  /// Rewinds to the first byte. Returns `false` if that is not possible.
  func rewind() -> Bool
  /// Sets a handler that is called when `read` has returned `.pending` and there is something to read.
  func setReadyHandler(_ handler: @escaping @Sendable () -> Void)
  /// Closes the source, from which nothing more will be read.
  func close()
}

extension UploadSource {
  var isDeclaredEmpty: Bool { false }
  func setReadyHandler(_ handler: @escaping @Sendable () -> Void) {}
  func close() {}
}

/// The result of a read of an ``UploadSource``.
enum UploadRead {
  case bytes(Int)
  case end
  /// Nothing is available yet: the ready handler will be called.
  case pending
  case failed(any Error)
}
