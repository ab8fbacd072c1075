import Foundation

/// Finds the end of a head or of a trailer section, and refuses lines that recipients understand differently.
///
/// A section that is whole in the input is copied once. Otherwise its bytes are gathered, and each is looked at once,
/// however the server splits them.
struct FieldSectionScanner {
  enum Kind { case head, trailers }

  enum Outcome {
    /// All lines, with the empty one at the end.
    case complete([UInt8])
    case failure(ResponseHeadRules.Failure)
  }

  private enum Line {
    case field
    /// A field whose syntax is wrong, but whose meaning is clear.
    case irregular
    /// A line that continues the value before it (RFC 9112 §5.2).
    case fold
    case end
    case failure(ResponseHeadRules.Failure)
  }

  private var kind: Kind
  private var gathered: [UInt8] = []
  /// Where the line begins in `gathered` whose end has not been received.
  private var lineStart = 0
  private var foldCount = 0
  /// Whether something was received that others may understand differently: folded lines, blanks before a colon.
  private(set) var isSuspicious = false

  init(_ kind: Kind) { self.kind = kind }

  /// Whether no part of a section is waiting for the rest.
  var isEmpty: Bool { gathered.isEmpty }

  /// Prepares for the trailers. The number of folded lines is that of the whole response.
  mutating func beginTrailers() { kind = .trailers }

  /// Scans from `offset` on and advances it past what was used. `nil`: more input is needed.
  mutating func next(_ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Outcome? {
    gathered.isEmpty ? scan(input, &offset) : gather(input, &offset)
  }

  private mutating func scan(_ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Outcome? {
    let bytes = UnsafeRawBufferPointer(rebasing: input[offset...])
    var start = 0
    while let end = bytes.endOfLine(from: start) {
      if start == 0, let failure = startFailure(bytes) { return .failure(failure) }
      if let failure = lengthFailure(section: end, line: end - start) { return .failure(failure) }
      let line = classify(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), isFirst: start == 0)
      if let failure = accept(line) { return .failure(failure) }
      if case .end = line {
        offset += end
        return .complete(Array(bytes[..<end]))
      }
      start = end
    }
    if start == 0, let failure = startFailure(bytes) { return .failure(failure) }
    if let failure = lengthFailure(section: bytes.count, line: bytes.count - start) { return .failure(failure) }
    gathered.append(contentsOf: bytes)
    lineStart = start
    offset = input.count
    return nil
  }

  private mutating func gather(_ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Outcome? {
    while offset < input.count {
      let end = input.endOfLine(from: offset)
      gathered.append(contentsOf: UnsafeRawBufferPointer(rebasing: input[offset..<(end ?? input.count)]))
      offset = end ?? input.count
      if lineStart == 0, let failure = gathered.withUnsafeBytes(startFailure) { return .failure(failure) }
      if let failure = lengthFailure(section: gathered.count, line: gathered.count - lineStart) {
        return .failure(failure)
      }
      guard end != nil else { return nil }
      let line = gathered.withUnsafeBytes { bytes in
        classify(UnsafeRawBufferPointer(rebasing: bytes[lineStart...]), isFirst: lineStart == 0)
      }
      if let failure = accept(line) { return .failure(failure) }
      if case .end = line {
        defer {
          gathered = []
          lineStart = 0
        }
        return .complete(gathered)
      }
      lineStart = gathered.count
    }
    return nil
  }

  // MARK: - Lines

  private func lengthFailure(section: Int, line: Int) -> ResponseHeadRules.Failure? {
    if section > ResponseHeadRules.maximumSize {
      return kind == .head ? ResponseHeadRules.headIsTooLong : ResponseHeadRules.trailersAreTooLong
    }
    return line > ResponseHeadRules.maximumLine ? ResponseHeadRules.lineIsTooLong : nil
  }

  private mutating func accept(_ line: Line) -> ResponseHeadRules.Failure? {
    switch line {
    case .field, .end: return nil
    case .irregular: isSuspicious = true
    case .fold:
      isSuspicious = true
      foldCount += 1
      if foldCount > ResponseHeadRules.maximumFolds { return ResponseHeadRules.tooManyFolds }
    case .failure(let failure): return failure
    }
    return nil
  }

  /// Compares the beginning of a head, as far as it has been received, with that of a status line (RFC 9112 §4): a server
  /// that speaks another protocol may never send the end of a line.
  private func startFailure(_ bytes: UnsafeRawBufferPointer) -> ResponseHeadRules.Failure? {
    guard kind == .head else { return nil }
    for (index, (byte, expected)) in zip(bytes, "HTTP/1.1 ".utf8).enumerated() where byte != expected {
      // RFC 9110 §2.5: a higher minor version is understood as the highest that is known.
      if index == 7, ResponseHeadRules.isDigit(byte) { continue }
      // They are negotiated (RFC 9113 §3.2, RFC 9114 §3.1), and have no status line at all.
      let isLater = index == 5 && (byte == UInt8(ascii: "2") || byte == UInt8(ascii: "3"))
      return isLater ? ResponseHeadRules.wrongVersion : ResponseHeadRules.notHTTP
    }
    return nil
  }

  /// - Parameter line: A line with its line feed.
  private func classify(_ line: UnsafeRawBufferPointer, isFirst: Bool) -> Line {
    if ResponseHeadRules.hasControlCharacter(line) { return .failure(ResponseHeadRules.controlCharacter) }
    if isFirst, kind == .head { return statusLine(line) }
    switch line.first {
    case UInt8(ascii: "\n"): return .end
    case UInt8(ascii: "\r") where line.count == 2: return .end
    case UInt8(ascii: " "), UInt8(ascii: "\t"): return .fold
    case UInt8(ascii: "H") where line.starts(with: "HTTP/".utf8): return .failure(ResponseHeadRules.secondStatusLine)
    default: return fieldLine(line)
    }
  }

  private func statusLine(_ line: UnsafeRawBufferPointer) -> Line {
    // The code has three digits (RFC 9112 §4). Servers omit the reason phrase, and the blank before it.
    guard line.count > 12, [UInt8(ascii: " "), UInt8(ascii: "\r"), UInt8(ascii: "\n")].contains(line[12]) else {
      return .failure(ResponseHeadRules.malformedStatusLine)
    }
    return .field
  }

  private func fieldLine(_ line: UnsafeRawBufferPointer) -> Line {
    var hasBlank = false
    for (index, byte) in line.enumerated() {
      switch byte {
      case UInt8(ascii: ":"): return index > 0 && !hasBlank ? .field : .irregular
      case UInt8(ascii: " "), UInt8(ascii: "\t"): hasBlank = true
      default: break
      }
    }
    return .failure(ResponseHeadRules.malformedField)
  }
}
