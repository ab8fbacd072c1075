import Foundation

/// Splits chunks at line feeds. Lines are slices of their chunk; only one that crosses chunks is copied together.
struct LineSplitter: Sendable {
  private static let lineFeed = Int32(UInt8(ascii: "\n"))

  private let maximumLength: Int
  private let reportOverlong: (@Sendable (StreamLineTooLongError) -> Void)?
  private var chunk = Data()
  /// The beginning of the line that goes on in the next chunk.
  private var carry = Data()
  private var isSkipping = false
  /// The number of the line that was handed on last, from 1.
  private(set) var lineNumber = 0

  /// - Parameter reportOverlong: If given, a line past the limit is skipped and reported, else it is an error.
  init(maximumLength: Int, reportOverlong: (@Sendable (StreamLineTooLongError) -> Void)? = nil) {
    self.maximumLength = maximumLength
    self.reportOverlong = reportOverlong
  }

  /// Takes the next chunk. Only after ``next()`` has returned `nil`.
  mutating func append(_ chunk: Data) { self.chunk = chunk }

  /// The next line that is not blank, without its line end; `nil` when more is needed.
  mutating func next() throws -> Data? {
    while !chunk.isEmpty {
      guard let end = endOfLine() else {
        try keep(chunk)
        chunk = Data()
        return nil
      }
      let piece = chunk[chunk.startIndex..<end]
      chunk = chunk[(end + 1)...]
      if let line = try complete(piece) { return line }
    }
    return nil
  }

  /// The line that the end of the stream ends.
  mutating func finish() throws -> Data? {
    guard !carry.isEmpty || isSkipping else { return nil }
    return try complete(Data())
  }

  private func endOfLine() -> Int? {
    chunk.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, let found = memchr(base, Self.lineFeed, bytes.count) else { return nil }
      return chunk.startIndex + (UnsafeRawPointer(found) - base)
    }
  }

  private mutating func keep(_ piece: Data) throws {
    guard !isSkipping else { return }
    // A carriage return at the end may turn out to be no part of the line.
    guard carry.count + piece.count <= maximumLength + 1 else { return try overlong(at: lineNumber + 1) }
    carry.append(piece)
  }

  private mutating func complete(_ piece: Data) throws -> Data? {
    lineNumber += 1
    if isSkipping {
      isSkipping = false
      return nil
    }
    var line = piece
    if !carry.isEmpty {
      line = carry + piece
      carry = Data()
    }
    if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
    guard line.count <= maximumLength else {
      try overlong(at: lineNumber)
      isSkipping = false
      return nil
    }
    return line.isEmpty ? nil : line
  }

  private mutating func overlong(at line: Int) throws {
    carry = Data()
    isSkipping = true
    let error = StreamLineTooLongError(line: line, limitBytes: maximumLength)
    guard let reportOverlong else { throw error }
    reportOverlong(error)
  }
}
