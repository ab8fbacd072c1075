import CZlib

/// Inflates the messages of one direction (RFC 7692 §7.2.2), in pieces no larger than its buffer.
///
/// It has one owner, the receiver of a connection.
final class MessageInflater {
  private static let outputSize = 64 * 1024
  private static let corrupt = ProtocolFailure(.invalidPayload, "The compressed message is corrupt")

  private let inflater: OpaquePointer
  private let keepsContext: Bool
  private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: outputSize, alignment: 16)
  private var input = UnsafeRawBufferPointer(start: nil, count: 0)
  private var mayHaveMore = false
  private var isCorrupt = false

  /// Returns `nil` if zlib is not available.
  init?(keepsContext: Bool) {
    guard let inflater = ekn_inflater_create(EKN_FORMAT_RAW) else { return nil }
    self.inflater = inflater
    self.keepsContext = keepsContext
  }

  deinit {
    ekn_inflater_free(inflater)
    output.deallocate()
  }

  /// Sets the next input of a message, to be inflated by calls of ``next()`` while the bytes are valid.
  func feed(_ bytes: UnsafeRawBufferPointer) {
    input = bytes
    mayHaveMore = true
  }

  /// Returns the next inflated bytes, valid until the next call; `nil` when the input is consumed.
  func next() throws(ProtocolFailure) -> UnsafeRawBufferPointer? {
    guard !isCorrupt else { throw Self.corrupt }
    guard mayHaveMore else { return nil }
    var source = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var sourceLength = input.count
    var target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var targetLength = output.count
    var status = ekn_inflater_run(inflater, &source, &sourceLength, &target, &targetLength)
    // RFC 7692 §7.2.3.5: a message may contain a final block; what follows still refers to the window.
    if status == EKN_ZLIB_END { status = ekn_inflater_continue(inflater) ? EKN_ZLIB_OK : EKN_ZLIB_CORRUPT }
    let consumed = input.count - sourceLength
    input = UnsafeRawBufferPointer(start: source, count: sourceLength)
    let produced = output.count - targetLength
    isCorrupt = status != EKN_ZLIB_OK || consumed == 0 && produced == 0 && sourceLength > 0
    // Output before the corrupt position is checked first, as it is when the bytes arrive one by one.
    guard !isCorrupt || produced > 0 else { throw Self.corrupt }
    mayHaveMore = sourceLength > 0 || targetLength == 0
    return UnsafeRawBufferPointer(rebasing: output[..<produced])
  }

  func endMessage() {
    if !keepsContext { _ = ekn_inflater_reset(inflater) }
  }
}
