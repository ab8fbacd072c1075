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

  /// `nil` when zlib is not on this machine.
  init?(keepsContext: Bool) {
    guard let inflater = ekn_inflater_create(EKN_FORMAT_RAW) else { return nil }
    self.inflater = inflater
    self.keepsContext = keepsContext
  }

  deinit {
    ekn_inflater_free(inflater)
    output.deallocate()
  }

  /// More of a message, to be inflated by calls of ``next()`` before the bytes go away.
  func feed(_ bytes: UnsafeRawBufferPointer) {
    input = bytes
    mayHaveMore = true
  }

  /// The next bytes, valid until the next call; `nil` when all that was fed is used up.
  func next() throws(ProtocolFailure) -> UnsafeRawBufferPointer? {
    guard !isCorrupt else { throw Self.corrupt }
    guard mayHaveMore else { return nil }
    var source = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var sourceLength = input.count
    var target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var targetLength = output.count
    var status = ekn_inflater_run(inflater, &source, &sourceLength, &target, &targetLength)
    // RFC 7692 §7.2.3.5: a message may hold a final block; what follows still refers to the window.
    if status == EKN_ZLIB_END { status = ekn_inflater_continue(inflater) ? EKN_ZLIB_OK : EKN_ZLIB_CORRUPT }
    let consumed = input.count - sourceLength
    input = UnsafeRawBufferPointer(start: source, count: sourceLength)
    let produced = output.count - targetLength
    isCorrupt = status != EKN_ZLIB_OK || consumed == 0 && produced == 0 && sourceLength > 0
    // What came before the corrupt place is judged first, as it is when the bytes come one by one.
    guard !isCorrupt || produced > 0 else { throw Self.corrupt }
    mayHaveMore = sourceLength > 0 || targetLength == 0
    return UnsafeRawBufferPointer(rebasing: output[..<produced])
  }

  /// The message has ended.
  func endMessage() {
    if !keepsContext { _ = ekn_inflater_reset(inflater) }
  }
}
