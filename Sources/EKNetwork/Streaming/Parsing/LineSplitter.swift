import Foundation

/// Splits chunks into lines, which are read in place; only a line that spans chunks is copied.
struct LineSplitter: Sendable {
  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  private let maximumLength: Int
  private let keepsBlankLines: Bool
  /// Whether a carriage return ends a line even without a line feed after it (WHATWG HTML §9.2.5).
  private let endsAtCarriageReturns: Bool
  private let reportOverlong: (@Sendable (StreamLineTooLongError) -> Void)?
  private var chunk = Data()
  /// The number of bytes of the chunk that have been read.
  private var offset = 0
  /// The offset of the next line feed in the chunk: less than `offset` if unknown, `max` if there is none.
  private var nextLineFeed = -1
  /// Whether to skip a line feed: after a carriage return it belongs to the same line ending, even in another chunk.
  private var swallowsLineFeed = false
  /// The beginning of a line that continues in the next chunk.
  private var carry: [UInt8] = []
  private var isSkipping = false
  private var lineNumber = 0

  /// - Parameter reportOverlong: Called with each line over the limit, which is skipped; if `nil`, such a line throws.
  init(
    maximumLength: Int, keepsBlankLines: Bool = false, endsAtCarriageReturns: Bool = false,
    reportOverlong: (@Sendable (StreamLineTooLongError) -> Void)? = nil
  ) {
    self.maximumLength = max(0, maximumLength)
    self.keepsBlankLines = keepsBlankLines
    self.endsAtCarriageReturns = endsAtCarriageReturns
    self.reportOverlong = reportOverlong
  }

  /// Sets the next chunk. Call it only after ``next(_:)`` has returned `nil`.
  mutating func append(_ chunk: Data) {
    self.chunk = chunk
    offset = 0
    nextLineFeed = -1
  }

  /// Returns what `make` returns for the next line, unless blank ones are skipped; `nil` if another chunk is needed.
  ///
  /// - Parameter make: Called with the line without its ending, which is valid during the call, and its number,
  ///   starting at 1. Lines for which it returns `nil` are skipped.
  mutating func next<Line>(_ make: (UnsafeRawBufferPointer, Int) throws -> Line?) throws -> Line? {
    // A separate reference, so that the rest of the splitter can be mutated meanwhile.
    let chunk = chunk
    // A consumed chunk is released while the next one is awaited.
    defer { if offset == chunk.count { append(Data()) } }
    return try chunk.withUnsafeBytes { bytes in
      while offset < bytes.count {
        if swallowsLineFeed {
          swallowsLineFeed = false
          if bytes[offset] == Self.lineFeed {
            offset += 1
            continue
          }
        }
        let rest = bytes.from(offset)
        guard let end = endOfLine(rest) else {
          offset = bytes.count
          try keep(rest)
          return nil
        }
        swallowsLineFeed = endsAtCarriageReturns && rest[end] == Self.carriageReturn
        offset += end + 1
        if let line = try complete(rest.upTo(end), make) { return line }
      }
      return nil
    }
  }

  /// Returns the same for the last line, which the end of the stream terminates.
  mutating func finish<Line>(_ make: (UnsafeRawBufferPointer, Int) throws -> Line?) throws -> Line? {
    guard !carry.isEmpty || isSkipping else { return nil }
    return try complete(UnsafeRawBufferPointer(start: nil, count: 0), make)
  }

  /// Returns the beginning of a line that something other than a line ending has ended; `nil` if there is none.
  mutating func takeRest() -> Data? {
    guard !carry.isEmpty else { return nil }
    lineNumber += 1
    return Data(exchange(&carry, with: []))
  }

  private mutating func endOfLine(_ rest: UnsafeRawBufferPointer) -> Int? {
    guard endsAtCarriageReturns else { return rest.firstOffset(of: Self.lineFeed) }
    // Searched for once, not for every line before it that ends in a carriage return.
    if nextLineFeed < offset { nextLineFeed = rest.firstOffset(of: Self.lineFeed).map { offset + $0 } ?? .max }
    let feed = nextLineFeed == .max ? nil : nextLineFeed - offset
    return rest.upTo(feed ?? rest.count).firstOffset(of: Self.carriageReturn) ?? feed
  }

  private mutating func keep(_ piece: UnsafeRawBufferPointer) throws {
    guard !isSkipping else { return }
    // A carriage return at the end may belong to the line ending.
    let ending = piece.last == Self.carriageReturn ? 1 : 0
    guard carry.count + piece.count - ending <= maximumLength else { return try overlong(at: lineNumber + 1) }
    carry.append(contentsOf: piece)
  }

  // Inlined, here and below: for a short line the calls would take as long as what `make` does.
  @inline(__always)
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

  @inline(__always)
  private mutating func handOn<Line>(
    _ line: UnsafeRawBufferPointer, _ make: (UnsafeRawBufferPointer, Int) throws -> Line?
  ) throws -> Line? {
    let line = line.last == Self.carriageReturn ? line.upTo(line.count - 1) : line
    guard line.count <= maximumLength else {
      try overlong(at: lineNumber)
      isSkipping = false
      return nil
    }
    return line.isEmpty && !keepsBlankLines ? nil : try make(line, lineNumber)
  }

  private mutating func overlong(at line: Int) throws {
    carry = []
    isSkipping = true
    let error = StreamLineTooLongError(line: line, limitBytes: maximumLength)
    guard let reportOverlong else { throw error }
    reportOverlong(error)
  }
}

/// A parser that makes an element of each line, as ``LineSplitter/next(_:)`` does.
struct LineParser<Element: Sendable>: StreamParser {
  private var splitter: LineSplitter
  private let make: @Sendable (UnsafeRawBufferPointer, Int) throws -> Element?

  init(_ splitter: LineSplitter, make: @escaping @Sendable (UnsafeRawBufferPointer, Int) throws -> Element?) {
    self.splitter = splitter
    self.make = make
  }

  mutating func append(_ chunk: Data) { splitter.append(chunk) }

  mutating func next() throws -> Element? { try splitter.next(make) }

  mutating func finish() throws -> Element? { try splitter.finish(make) }
}

extension LineParser<String> {
  /// Invalid UTF-8 is repaired, as by `String(decoding:as:)`.
  init(_ splitter: LineSplitter) { self.init(splitter) { line, _ in String(decoding: line, as: UTF8.self) } }
}

/// An error for a line or a server-sent event that exceeds its limit.
public struct StreamLineTooLongError: LocalizedError, ClassifiedError, Equatable, Sendable {
  /// The number of the line, starting at 1.
  public let line: Int
  /// The limit, in bytes.
  public let limitBytes: Int

  /// Creates an error as the library throws it, for tests.
  public init(line: Int, limitBytes: Int) {
    self.line = line
    self.limitBytes = limitBytes
  }

  var failureKind: FailureKind { .permanent }

  /// A description of the error.
  public var errorDescription: String? { "Line \(line) is longer than \(limitBytes) bytes" }
}

extension UnsafeRawBufferPointer {
  func firstOffset(of byte: UInt8) -> Int? {
    guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
    return UnsafeRawPointer(found) - baseAddress
  }

  func equals(_ literal: StaticString) -> Bool {
    guard count == literal.utf8CodeUnitCount, let baseAddress else { return count == literal.utf8CodeUnitCount }
    return memcmp(baseAddress, literal.utf8Start, count) == 0
  }

  func from(_ offset: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[offset...]) }

  func upTo(_ offset: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[..<offset]) }
}
