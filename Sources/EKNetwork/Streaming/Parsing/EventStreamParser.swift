import Foundation

/// Where to resume an event stream, for those who ask while it is read.
typealias EventStreamPosition = Locked<(lastEventID: String, reconnectionTime: Duration?)>

/// A parser for event streams, exactly as WHATWG HTML §9.2.5 and §9.2.6 specify.
struct EventStreamParser: StreamParser {
  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private let maximumSize: Int
  private var chunk = Data()
  /// The number of bytes of the chunk that have been read.
  private var offset = 0
  /// The offset of the next line feed in the chunk: less than `offset` if unknown, `max` if there is none.
  private var nextLineFeed = -1
  private var carry: [UInt8] = []
  private var lineNumber = 0
  /// Whether to skip a line feed: after a carriage return it belongs to the same line ending, even in another chunk.
  private var swallowsLineFeed = false

  // The buffers of §9.2.6.
  private var data: [UInt8] = []
  private var type = ""
  private var id: String?
  private var retry: Duration?
  /// The ID to resume after: that of the last dispatched event (§9.2.6), even if it had no data. An ID that is not a
  /// valid header field value is skipped: resuming after an earlier one repeats events, resuming without one loses
  /// them. `nil` if the server has not set one; one that it has reset is empty.
  private(set) var lastEventID: String? {
    didSet { position?.withLock { $0.lastEventID = lastEventID ?? "" } }
  }
  private var isIDSendable = true
  private let dispatchesTypesAlone: Bool
  private let onComment: (@Sendable () -> Void)?
  private let refusal: EventStreamError?
  private(set) var reconnectionTime: Duration? {
    didSet { position?.withLock { $0.reconnectionTime = reconnectionTime } }
  }
  private let position: EventStreamPosition?

  /// - Parameters:
  ///   - maximumSize: The maximum size in bytes of a line and of the data of an event.
  ///   - lastEventID: The last event ID of the previous stream.
  ///   - dispatchesTypesAlone: Whether an event without data is returned if it has a type. §9.2.6 drops it; protocols
  ///     on top of event streams use it.
  ///   - refusal: The reason why the body is no event stream: the error of every read.
  ///   - position: Told where to resume.
  ///   - onComment: Called for each comment, which servers send as keep-alive (§9.2.7).
  init(
    maximumSize: Int, lastEventID: String? = nil, dispatchesTypesAlone: Bool = false, refusal: EventStreamError? = nil,
    position: EventStreamPosition? = nil, onComment: (@Sendable () -> Void)? = nil
  ) {
    self.maximumSize = max(0, maximumSize)
    self.dispatchesTypesAlone = dispatchesTypesAlone
    self.refusal = refusal
    self.position = position
    self.onComment = onComment
    self.lastEventID = lastEventID
    id = lastEventID
  }

  mutating func append(_ chunk: Data) {
    self.chunk = chunk
    offset = 0
    nextLineFeed = -1
  }

  mutating func next() throws -> ServerSentEvent? {
    if let refusal { throw refusal }
    // A separate reference, so that the rest of the parser can be mutated meanwhile.
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
          try checkSize(carry.count + rest.count, line: lineNumber + 1)
          carry.append(contentsOf: rest)
          offset = bytes.count
          return nil
        }
        swallowsLineFeed = rest[end] == Self.carriageReturn
        offset += end + 1
        if let event = try line(rest.upTo(end)) { return event }
      }
      return nil
    }
  }

  /// Discards an event that the end of the stream leaves incomplete (§9.2.6).
  mutating func finish() -> ServerSentEvent? { nil }

  private mutating func endOfLine(_ rest: UnsafeRawBufferPointer) -> Int? {
    // Searched for once, not for every line before it that ends in a carriage return.
    if nextLineFeed < offset { nextLineFeed = rest.firstOffset(of: Self.lineFeed).map { offset + $0 } ?? .max }
    let feed = nextLineFeed == .max ? nil : nextLineFeed - offset
    return rest.upTo(feed ?? rest.count).firstOffset(of: Self.carriageReturn) ?? feed
  }

  private mutating func line(_ piece: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
    lineNumber += 1
    try checkSize(carry.count + piece.count, line: lineNumber)
    guard !carry.isEmpty else { return try process(piece) }
    carry.append(contentsOf: piece)
    let whole = carry
    carry = []
    return try whole.withUnsafeBytes { try process($0) }
  }

  private mutating func process(_ bytes: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
    var line = bytes
    // §9.2.5: the stream may begin with one byte order mark.
    if lineNumber == 1, line.starts(with: Self.byteOrderMark) {
      line = line.from(Self.byteOrderMark.count)
    }
    guard let first = line.first else { return dispatch() }
    guard first != UInt8(ascii: ":") else {
      onComment?()
      return nil
    }
    let colon = line.firstOffset(of: UInt8(ascii: ":")) ?? line.count
    let value = line.from(min(colon + 1, line.count))
    try field(line.upTo(colon), value.first == UInt8(ascii: " ") ? value.from(1) : value)
    return nil
  }

  private mutating func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    if name.equals("data") {
      try checkSize(data.count + value.count, line: lineNumber)
      data.append(contentsOf: value)
      data.append(Self.lineFeed)
    } else if name.equals("event") {
      type = String(decoding: value, as: UTF8.self)
    } else if name.equals("id") {
      guard !value.contains(0) else { return }
      let id = String(decoding: value, as: UTF8.self)
      self.id = id
      // RFC 9110 §5.5. Servers accept much less than the limit: a subscription could never reconnect.
      isIDSendable = value.count <= Self.longestSendableID && HeaderSyntax.trimmedValue(id) != nil
    } else if name.equals("retry") {
      guard let milliseconds = DeltaSeconds.parse(String(decoding: value, as: UTF8.self)) else { return }
      // At most a day.
      retry = .milliseconds(min(milliseconds, 86_400_000))
      reconnectionTime = retry
    }
  }

  private static let longestSendableID = 64 * 1024

  private mutating func dispatch() -> ServerSentEvent? {
    if isIDSendable, lastEventID != id { lastEventID = id }
    defer {
      data.removeAll(keepingCapacity: data.count <= 64 * 1024)
      type = ""
      retry = nil
    }
    guard !data.isEmpty || (dispatchesTypesAlone && !type.isEmpty) else { return nil }
    return ServerSentEvent(
      event: type.isEmpty ? "message" : type, data: String(decoding: data.dropLast(), as: UTF8.self), id: id ?? "",
      retry: retry)
  }

  private func checkSize(_ size: Int, line: Int) throws {
    guard size <= maximumSize else { throw StreamLineTooLongError(line: line, limitBytes: maximumSize) }
  }
}

/// One event of a `text/event-stream` (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Equatable {
  /// The event's type; `"message"` if the server sends none.
  public let event: String
  /// The data lines, joined with line feeds.
  public let data: String
  /// The last event ID of the stream, set by this event or an earlier one; empty if there was none.
  public let id: String
  /// The reconnection time that the server set with this event, if any.
  public let retry: Duration?

  /// Creates an event as the parser returns it, for tests.
  public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
    self.event = event
    self.data = data
    self.id = id
    self.retry = retry
  }
}
