import Foundation

/// Parses an event stream, byte for byte as WHATWG HTML §9.2.5 and §9.2.6 have it.
struct EventStreamParser: StreamParser {
  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private let maximumSize: Int
  private var chunk = Data()
  private var carry: [UInt8] = []
  private var lineNumber = 0
  /// A line feed right after a carriage return belongs to the same line end, in whatever chunk it comes.
  private var swallowsLineFeed = false

  // The buffers of §9.2.6.
  private var data: [UInt8] = []
  private var type = ""
  private var id: String
  private var retry: Duration?
  /// The ID to resume after: that of the last event that was dispatched (§9.2.6), even if it had no data.
  private(set) var lastEventID: String
  /// The reconnection time that the server has set.
  private(set) var reconnectionTime: Duration?

  /// - Parameters:
  ///   - maximumSize: How many bytes a line, or the data of an event, may hold.
  ///   - lastEventID: The ID that a stream before this one ended with.
  init(maximumSize: Int, lastEventID: String = "") {
    self.maximumSize = maximumSize
    self.lastEventID = lastEventID
    id = lastEventID
  }

  mutating func append(_ chunk: Data) { self.chunk = chunk }

  mutating func next() throws -> ServerSentEvent? {
    while !chunk.isEmpty {
      if swallowsLineFeed {
        swallowsLineFeed = false
        if chunk.first == Self.lineFeed {
          chunk = chunk.dropFirst()
          continue
        }
      }
      guard let end = endOfLine() else {
        try checkSize(carry.count + chunk.count)
        carry.append(contentsOf: chunk)
        chunk = Data()
        return nil
      }
      swallowsLineFeed = chunk[end] == Self.carriageReturn
      let piece = chunk[chunk.startIndex..<end]
      chunk = chunk[(end + 1)...]
      if let event = try line(piece) { return event }
    }
    return nil
  }

  /// §9.2.6: an event that the end of the stream cuts off is discarded.
  mutating func finish() -> ServerSentEvent? { nil }

  private func endOfLine() -> Int? {
    chunk.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return nil }
      let feed = memchr(base, Int32(Self.lineFeed), bytes.count).map { UnsafeRawPointer($0) - base }
      let searched = feed ?? bytes.count
      let carriage = memchr(base, Int32(Self.carriageReturn), searched).map { UnsafeRawPointer($0) - base }
      return (carriage ?? feed).map { chunk.startIndex + $0 }
    }
  }

  private mutating func line(_ piece: Data) throws -> ServerSentEvent? {
    lineNumber += 1
    if carry.isEmpty {
      try checkSize(piece.count)
      return try piece.withUnsafeBytes { try process($0) }
    }
    try checkSize(carry.count + piece.count)
    carry.append(contentsOf: piece)
    let whole = carry
    carry = []
    return try whole.withUnsafeBytes { try process($0) }
  }

  private mutating func process(_ bytes: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
    var line = bytes
    // §9.2.5: one byte order mark may lead the stream.
    if lineNumber == 1, line.starts(with: Self.byteOrderMark) {
      line = UnsafeRawBufferPointer(rebasing: line.dropFirst(Self.byteOrderMark.count))
    }
    guard let first = line.first else { return dispatch() }
    guard first != UInt8(ascii: ":") else { return nil }
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    var value = line[min(colon + 1, line.endIndex)...]
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    try field(UnsafeRawBufferPointer(rebasing: line[..<colon]), UnsafeRawBufferPointer(rebasing: value))
    return nil
  }

  private mutating func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    if name.elementsEqual("data".utf8) {
      try checkSize(data.count + value.count)
      data.append(contentsOf: value)
      data.append(Self.lineFeed)
    } else if name.elementsEqual("event".utf8) {
      type = String(decoding: value, as: UTF8.self)
    } else if name.elementsEqual("id".utf8) {
      if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
    } else if name.elementsEqual("retry".utf8) {
      guard let milliseconds = Self.digits(value) else { return }
      retry = .milliseconds(milliseconds)
      reconnectionTime = retry
    }
  }

  private mutating func dispatch() -> ServerSentEvent? {
    lastEventID = id
    defer {
      data.removeAll(keepingCapacity: data.count <= 64 * 1024)
      type = ""
      retry = nil
    }
    guard !data.isEmpty else { return nil }
    return ServerSentEvent(
      event: type.isEmpty ? "message" : type, data: String(decoding: data.dropLast(), as: UTF8.self), id: id,
      retry: retry)
  }

  private func checkSize(_ size: Int) throws {
    guard size <= maximumSize else { throw StreamLineTooLongError(line: max(1, lineNumber), limitBytes: maximumSize) }
  }

  /// ASCII digits only; a number that is too large to be meant is a day.
  private static func digits(_ bytes: UnsafeRawBufferPointer) -> Int64? {
    guard !bytes.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in bytes {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = min(value * 10 + Int64(byte - UInt8(ascii: "0")), 86_400_000)
    }
    return value
  }
}
