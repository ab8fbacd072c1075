import Foundation

/// A parser of HTTP/1.1 requests (RFC 9112), as a value: bytes in, events out, regardless of how the bytes are chunked.
///
/// It is strict on purpose. A client that sends a bare line feed, two lengths or an invalid chunk gets an error.
struct RequestParser {
  enum Event: Equatable {
    case head(RequestHead)
    /// A piece of the body: its content, and the same piece as received, with chunk framing.
    case body(content: [UInt8], raw: [UInt8])
    case end(trailers: HeaderFields)
  }

  /// The reason why the bytes are not a valid request, with the status of the response.
  struct Failure: Error, Equatable {
    let status: Int
    let reason: String
  }

  private enum State {
    case head
    case fixed(remaining: Int)
    case chunkSize
    case chunkContent(remaining: Int)
    case chunkEnd
    case trailers
    case failed(Failure)
  }

  private let maximumHeadSize: Int
  private let maximumBodySize: Int
  private var state = State.head
  private var buffer: [UInt8] = []
  /// The index of the first byte not yet consumed.
  private var start = 0
  /// The index where the search for the end of the line continues.
  private var searched = 0
  /// The index of the first byte of the current line.
  private var lineStart = 0
  private var bodySize = 0

  init(maximumHeadSize: Int = 1 << 20, maximumBodySize: Int = .max) {
    self.maximumHeadSize = maximumHeadSize
    self.maximumBodySize = maximumBodySize
  }

  /// The number of bytes received but not yet returned.
  var bufferedCount: Int { buffer.count - start }

  /// Whether a request has started and is not complete.
  var isMidRequest: Bool {
    if case .head = state { return bufferedCount > 0 }
    return true
  }

  mutating func append(_ bytes: some Collection<UInt8>) {
    if start == buffer.count {
      buffer.removeAll(keepingCapacity: buffer.capacity <= 1 << 17)
      rewind(to: 0)
    }
    buffer.append(contentsOf: bytes)
  }

  /// Returns the next event; `nil` if more bytes are needed.
  mutating func next() throws(Failure) -> Event? {
    do {
      return try advance()
    } catch {
      state = .failed(error)
      throw error
    }
  }

  /// Returns buffered bytes of an upgraded connection, which are not HTTP; `nil` if none are buffered.
  mutating func takeRest(upTo limit: Int) -> [UInt8]? { take(upTo: max(1, limit)) }

  private mutating func advance() throws(Failure) -> Event? {
    switch state {
    case .failed(let failure):
      throw failure
    case .head:
      return try parseHead()
    case .fixed(let remaining):
      if remaining == 0 { return finish(trailers: HeaderFields()) }
      guard let piece = take(upTo: remaining) else { return nil }
      state = .fixed(remaining: remaining - piece.count)
      return .body(content: piece, raw: piece)
    case .chunkSize:
      return try parseChunkSize()
    case .chunkContent(let remaining):
      guard let piece = take(upTo: remaining) else { return nil }
      state = piece.count == remaining ? .chunkEnd : .chunkContent(remaining: remaining - piece.count)
      return .body(content: piece, raw: piece)
    case .chunkEnd:
      guard bufferedCount >= 2 else { return nil }
      guard buffer[start] == .carriageReturn, buffer[start + 1] == .lineFeed else {
        throw Failure(status: 400, reason: "chunk data is not followed by CRLF")
      }
      state = .chunkSize
      return .body(content: [], raw: consume(2))
    case .trailers:
      guard let block = try nextBlock(limit: maximumHeadSize) else { return nil }
      let trailers = try RequestHead.fields(in: block.dropLast(2))
      // The trailer section is part of the raw body; the end event follows on the next call.
      state = .fixed(remaining: 0)
      pendingTrailers = trailers
      return .body(content: [], raw: block)
    }
  }

  private var pendingTrailers: HeaderFields?

  private mutating func parseHead() throws(Failure) -> Event? {
    // RFC 9112, section 2.2: an empty line before the request line is ignored.
    while bufferedCount >= 2, buffer[start] == .carriageReturn, buffer[start + 1] == .lineFeed { _ = consume(2) }
    guard let block = try nextBlock(limit: maximumHeadSize) else { return nil }
    let head = try RequestHead(parsing: block)
    bodySize = 0
    switch try head.framing() {
    case .length(let count):
      guard count <= maximumBodySize else { throw Failure(status: 413, reason: "body too large") }
      state = .fixed(remaining: count)
    case .chunked:
      state = .chunkSize
    }
    return .head(head)
  }

  private mutating func parseChunkSize() throws(Failure) -> Event? {
    guard let line = try nextLine(limit: 1 << 14) else { return nil }
    let digits = line.dropLast(2).prefix { $0.hexValue != nil }
    let rest = line.dropLast(2).dropFirst(digits.count)
    // Fifteen hexadecimal digits always fit in an Int; more are an attack or a mistake.
    guard (1...15).contains(digits.count), rest.isEmpty || rest.first == UInt8(ascii: ";") else {
      throw Failure(status: 400, reason: "bad chunk size")
    }
    let size = digits.reduce(0) { $0 << 4 | Int($1.hexValue ?? 0) }
    guard size <= maximumBodySize - bodySize else { throw Failure(status: 413, reason: "body too large") }
    bodySize += size
    state = size == 0 ? .trailers : .chunkContent(remaining: size)
    return .body(content: [], raw: line)
  }

  private mutating func finish(trailers: HeaderFields) -> Event {
    state = .head
    defer { pendingTrailers = nil }
    return .end(trailers: pendingTrailers ?? trailers)
  }

  /// Consumes one line, including its CRLF.
  private mutating func nextLine(limit: Int) throws(Failure) -> [UInt8]? {
    guard let end = try endOfLine(limit: limit) else { return nil }
    return consume(end - start)
  }

  /// Consumes lines up to and including the first empty one.
  private mutating func nextBlock(limit: Int) throws(Failure) -> [UInt8]? {
    while let end = try endOfLine(limit: limit) {
      if end - lineStart == 2 { return consume(end - start) }
      lineStart = end
    }
    return nil
  }

  /// Returns the position after the next line feed, before which the line must end in CRLF.
  private mutating func endOfLine(limit: Int) throws(Failure) -> Int? {
    let found = buffer.withUnsafeBytes { bytes -> Int? in
      guard let base = bytes.baseAddress, searched < bytes.count,
        let hit = memchr(base + searched, 0x0A, bytes.count - searched)
      else { return nil }
      return UnsafeRawPointer(hit) - base
    }
    guard let found else {
      searched = buffer.count
      guard bufferedCount <= limit else { throw Failure(status: 431, reason: "too many header bytes") }
      return nil
    }
    guard found > lineStart, buffer[found - 1] == .carriageReturn else {
      throw Failure(status: 400, reason: "a line feed without a carriage return")
    }
    searched = found + 1
    guard searched - start <= limit else { throw Failure(status: 431, reason: "too many header bytes") }
    return searched
  }

  private mutating func take(upTo count: Int) -> [UInt8]? {
    bufferedCount == 0 ? nil : consume(min(count, bufferedCount))
  }

  private mutating func consume(_ count: Int) -> [UInt8] {
    let taken = Array(buffer[start..<start + count])
    rewind(to: start + count)
    if start > 1 << 17 {
      buffer.removeFirst(start)
      rewind(to: 0)
    }
    return taken
  }

  private mutating func rewind(to position: Int) {
    start = position
    searched = position
    lineStart = position
  }
}
