import CZlib

/// Compresses the messages of one direction (RFC 7692 §7.2.1).
///
/// It has one owner, the sender of a connection.
final class MessageDeflater {
  private let deflater: OpaquePointer
  private let keepsContext: Bool

  /// Returns `nil` if zlib is not available or does not support the window: its raw streams need at least 9 bits.
  init?(windowBits: Int, keepsContext: Bool) {
    guard (9...15).contains(windowBits), let deflater = ekn_deflater_create(Int32(windowBits)) else { return nil }
    self.deflater = deflater
    self.keepsContext = keepsContext
  }

  deinit { ekn_deflater_free(deflater) }

  /// Compresses one message and removes the end of the sync flush; returns `nil` if zlib fails.
  func deflate(_ message: UnsafeRawBufferPointer) -> [UInt8]? {
    var result: [UInt8] = []
    result.reserveCapacity(message.count / 2 + 64)
    var source = message.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var sourceLength = message.count
    var isFull = true
    while isFull || sourceLength > 0 {
      var isCorrupt = false
      let block = [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, initialized in
        var target = buffer.baseAddress
        var targetLength = buffer.count
        isCorrupt = ekn_deflater_run(deflater, &source, &sourceLength, &target, &targetLength) != EKN_ZLIB_OK
        initialized = buffer.count - targetLength
        isFull = targetLength == 0
      }
      guard !isCorrupt else { return nil }
      result += block
    }
    if !keepsContext { ekn_deflater_reset(deflater) }
    if result.suffix(4) == [0, 0, 0xFF, 0xFF] { result.removeLast(4) }
    // §7.2.3.6: an empty message is one empty block, which zlib does not write twice in a row.
    return result.isEmpty ? [0] : result
  }
}
