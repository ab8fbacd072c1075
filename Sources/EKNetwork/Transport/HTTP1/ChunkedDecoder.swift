/// Decodes a chunked body up to its last chunk, whose size is 0; the trailer section follows (RFC 9112 §7.1).
struct ChunkedDecoder {
  enum Event {
    /// Bytes of the body, a slice of the input.
    case data(UnsafeRawBufferPointer)
    case lastChunk
    case failure(ResponseHeadRules.Failure)
  }

  private enum State {
    case size
    /// Blanks behind the size, which some servers pad to a fixed width.
    case padding
    case chunkExtension
    /// The line feed of the line with the size.
    case sizeLineFeed
    case data
    case endOfData
    /// The line feed behind the data.
    case dataLineFeed
    case lastChunk
  }

  /// The limit of a line with a size, which may have extensions.
  static let maximumLineSize = 4 * 1024
  /// How long the line of any chunk may be, with a size that is padded to a fixed width.
  private static let usualLineSize = 16
  static let malformedSize: ResponseHeadRules.Failure = (
    .badServerResponse, "The response body has a chunk whose size is not a valid number"
  )
  static let malformedEnd: ResponseHeadRules.Failure = (
    .badServerResponse, "The response body has a chunk that is longer than its size"
  )
  static let lineIsTooLong: ResponseHeadRules.Failure = (
    .dataLengthExceedsMaximum, "The line with the size of a chunk is longer than \(maximumLineSize) bytes"
  )
  static let linesAreTooLong: ResponseHeadRules.Failure = (
    .dataLengthExceedsMaximum, "The lines with the sizes of chunks are far longer than the chunks"
  )

  private var state = State.size
  /// The size that is being read, then what is left of the chunk.
  private var size: Int64 = 0
  private var hasDigit = false
  private var lineSize = 0
  /// By how much the lines are longer than usual lines and the data: a server could send extensions, blanks and zeros for
  /// ever (RFC 9112 §7.1.1), but a long body may have many of them.
  private var excess = 0
  /// Whether a line ended with a bare line feed, of which RFC 9112 §2.2 speaks for heads only: others may not take it for
  /// an end.
  private(set) var isSuspicious = false

  /// Decodes from `offset` on and advances it past what was used. `nil`: more input is needed.
  mutating func next(_ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Event? {
    while offset < input.count, state != .lastChunk {
      if state == .data {
        let count = Int(min(size, Int64(input.count - offset)))
        let data = UnsafeRawBufferPointer(rebasing: input[offset..<(offset + count)])
        offset += count
        size -= Int64(count)
        if size == 0 { state = .endOfData }
        return .data(data)
      }
      let byte = input[offset]
      offset += 1
      if let failure = framing(byte) { return .failure(failure) }
      if state == .lastChunk { return .lastChunk }
    }
    return nil
  }

  /// Reads a byte outside the data.
  private mutating func framing(_ byte: UInt8) -> ResponseHeadRules.Failure? {
    switch state {
    case .endOfData where byte == UInt8(ascii: "\r"): state = .dataLineFeed
    case .endOfData, .dataLineFeed:
      guard byte == UInt8(ascii: "\n") else { return Self.malformedEnd }
      if state == .endOfData { isSuspicious = true }
      beginLine()
    default:
      lineSize += 1
      guard lineSize <= Self.maximumLineSize else { return Self.lineIsTooLong }
      return sizeLine(byte)
    }
    return nil
  }

  private mutating func beginLine() {
    state = .size
    size = 0
    hasDigit = false
    lineSize = 0
  }

  /// Reads a byte of the line with the size and the extensions, which nothing here understands (RFC 9112 §7.1.1).
  private mutating func sizeLine(_ byte: UInt8) -> ResponseHeadRules.Failure? {
    if state == .size, let digit = PercentEncoding.value(ofDigit: byte) { return append(digit) }
    guard hasDigit else { return Self.malformedSize }
    switch (byte, state) {
    case (UInt8(ascii: "\n"), _):
      if state != .sizeLineFeed { isSuspicious = true }
      state = size == 0 ? .lastChunk : .data
      let allowed = Self.usualLineSize + Int(min(size, Int64(ResponseHeadRules.maximumSize)))
      excess = max(0, excess + lineSize - allowed)
      if excess > ResponseHeadRules.maximumSize { return Self.linesAreTooLong }
    // RFC 9112 §2.2: a carriage return alone does not end a line, and has no other meaning.
    case (_, .sizeLineFeed): return Self.malformedSize
    case (UInt8(ascii: "\r"), _): state = .sizeLineFeed
    case (UInt8(ascii: ";"), .size), (UInt8(ascii: ";"), .padding), (_, .chunkExtension):
      state = .chunkExtension
    case (UInt8(ascii: " "), _), (UInt8(ascii: "\t"), _): state = .padding
    default: return Self.malformedSize
    }
    return nil
  }

  /// RFC 9112 §7.1: recipients have to anticipate sizes that are too large for an integer.
  private mutating func append(_ digit: UInt8) -> ResponseHeadRules.Failure? {
    hasDigit = true
    let (shifted, overflow) = size.multipliedReportingOverflow(by: 16)
    guard !overflow else { return Self.malformedSize }
    // The lowest four bits are free.
    size = shifted | Int64(digit)
    return nil
  }
}
