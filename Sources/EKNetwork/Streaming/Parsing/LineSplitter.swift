import Foundation

/// Splits chunks at line feeds. Lines are read where they lie; only one that crosses chunks is copied together.
struct LineSplitter: Sendable {
  private static let lineFeed = UInt8(ascii: "\n")

  private let maximumLength: Int
  private let reportOverlong: (@Sendable (StreamLineTooLongError) -> Void)?
  private var chunk = Data()
  /// How much of the chunk has been read.
  private var offset = 0
  /// The beginning of the line that goes on in the next chunk.
  private var carry: [UInt8] = []
  private var isSkipping = false
  private var lineNumber = 0

  /// - Parameter reportOverlong: If given, a line past the limit is skipped and reported, else it is an error.
  init(maximumLength: Int, reportOverlong: (@Sendable (StreamLineTooLongError) -> Void)? = nil) {
    self.maximumLength = maximumLength
    self.reportOverlong = reportOverlong
  }

  /// Takes the next chunk. Only after ``next(_:)`` has returned `nil`.
  mutating func append(_ chunk: Data) {
    self.chunk = chunk
    offset = 0
  }

  /// What `make` makes of the next line that is not blank; `nil` when more is needed.
  ///
  /// - Parameter make: Gets the line without its end, for the time of the call, and its number, from 1. Lines of which
  ///   it makes nothing are passed over.
  mutating func next<Line>(_ make: (UnsafeRawBufferPointer, Int) throws -> Line?) throws -> Line? {
    // A reference of its own, so that the rest of the splitter can change meanwhile.
    let chunk = chunk
    // What is used up is not kept while the next chunk is waited for.
    defer { if offset == chunk.count { append(Data()) } }
    return try chunk.withUnsafeBytes { bytes in
      while offset < bytes.count {
        let rest = bytes.from(offset)
        guard let end = rest.firstOffset(of: Self.lineFeed) else {
          offset = bytes.count
          try keep(rest)
          return nil
        }
        offset += end + 1
        if let line = try complete(rest.upTo(end), make) { return line }
      }
      return nil
    }
  }

  /// The same for the line that the end of the stream ends.
  mutating func finish<Line>(_ make: (UnsafeRawBufferPointer, Int) throws -> Line?) throws -> Line? {
    guard !carry.isEmpty || isSkipping else { return nil }
    return try complete(UnsafeRawBufferPointer(start: nil, count: 0), make)
  }

  private mutating func keep(_ piece: UnsafeRawBufferPointer) throws {
    guard !isSkipping else { return }
    // A carriage return at the end may turn out to be no part of the line.
    guard carry.count + piece.count - 1 <= maximumLength else { return try overlong(at: lineNumber + 1) }
    carry.append(contentsOf: piece)
  }

  private mutating func complete<Line>(
    _ piece: UnsafeRawBufferPointer, _ make: (UnsafeRawBufferPointer, Int) throws -> Line?
  ) throws -> Line? {
    lineNumber += 1
    if isSkipping {
      isSkipping = false
      return nil
    }
    guard !carry.isEmpty else { return try handOn(piece, make) }
    carry.append(contentsOf: piece)
    let whole = carry
    carry = []
    return try whole.withUnsafeBytes { try handOn($0, make) }
  }

  private mutating func handOn<Line>(
    _ line: UnsafeRawBufferPointer, _ make: (UnsafeRawBufferPointer, Int) throws -> Line?
  ) throws -> Line? {
    let line = line.last == UInt8(ascii: "\r") ? line.upTo(line.count - 1) : line
    guard line.count <= maximumLength else {
      try overlong(at: lineNumber)
      isSkipping = false
      return nil
    }
    return line.isEmpty ? nil : try make(line, lineNumber)
  }

  private mutating func overlong(at line: Int) throws {
    carry = []
    isSkipping = true
    let error = StreamLineTooLongError(line: line, limitBytes: maximumLength)
    guard let reportOverlong else { throw error }
    reportOverlong(error)
  }
}
