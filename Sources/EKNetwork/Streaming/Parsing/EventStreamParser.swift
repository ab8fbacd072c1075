import Foundation

/// Where to resume an event stream, for those who ask while it is read.
typealias EventStreamPosition = Locked<(lastEventID: String, reconnectionTime: Duration?)>

/// A parser for event streams, exactly as WHATWG HTML §9.2.5 and §9.2.6 specify. An event that the end of the stream leaves
/// incomplete is discarded.
struct EventStreamParser: StreamParser {
  private var splitter: LineSplitter
  private var buffers: EventBuffers
  private let refusal: EventStreamError?

  /// - Parameters:
  ///   - maximumSize: The maximum size in bytes of a line and of the data of an event.
  ///   - dispatchesTypesAlone: Whether an event without data is returned if it has a type. §9.2.6 drops it; protocols
  ///     on top of event streams use it.
  ///   - refusal: The reason why the body is no event stream: the error of every read.
  ///   - position: Told where to resume.
  ///   - onComment: Called for each comment, which servers send as keep-alive (§9.2.7).
  init(
    maximumSize: Int, lastEventID: String? = nil, dispatchesTypesAlone: Bool = false, refusal: EventStreamError? = nil,
    position: EventStreamPosition? = nil, onComment: (@Sendable () -> Void)? = nil
  ) {
    splitter = LineSplitter(maximumLength: maximumSize, keepsBlankLines: true, endsAtCarriageReturns: true)
    buffers = EventBuffers(
      maximumSize: max(0, maximumSize), dispatchesTypesAlone: dispatchesTypesAlone, position: position,
      onComment: onComment, id: lastEventID, lastEventID: lastEventID)
    self.refusal = refusal
  }

  var lastEventID: String? { buffers.lastEventID }
  var reconnectionTime: Duration? { buffers.reconnectionTime }

  mutating func append(_ chunk: Data) { splitter.append(chunk) }

  mutating func next() throws -> ServerSentEvent? {
    if let refusal { throw refusal }
    return try splitter.next { try buffers.process($0, number: $1) }
  }
}

/// The buffers of an event that is being received (WHATWG HTML §9.2.6).
private struct EventBuffers: Sendable {
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
  private static let longestSendableID = 64 * 1024

  let maximumSize: Int
  let dispatchesTypesAlone: Bool
  let position: EventStreamPosition?
  let onComment: (@Sendable () -> Void)?
  var data: [UInt8] = []
  var type = ""
  var id: String?
  var retry: Duration?
  var isIDSendable = true
  /// The ID to resume after: that of the last dispatched event (§9.2.6), even if it had no data. An ID that is not a
  /// valid header field value is skipped: resuming after an earlier one repeats events, resuming without one loses
  /// them. `nil` if the server has not set one; one that it has reset is empty.
  var lastEventID: String? {
    didSet { position?.withLock { $0.lastEventID = lastEventID ?? "" } }
  }
  var reconnectionTime: Duration? {
    didSet { position?.withLock { $0.reconnectionTime = reconnectionTime } }
  }

  /// Interprets a line (§9.2.6), and returns the event that it completes.
  mutating func process(_ bytes: UnsafeRawBufferPointer, number: Int) throws -> ServerSentEvent? {
    var line = bytes
    // §9.2.5: the stream may begin with one byte order mark.
    if number == 1, line.starts(with: Self.byteOrderMark) {
      line = line.from(Self.byteOrderMark.count)
    }
    guard let first = line.first else { return dispatch() }
    guard first != UInt8(ascii: ":") else {
      onComment?()
      return nil
    }
    let colon = line.firstOffset(of: UInt8(ascii: ":")) ?? line.count
    let value = line.from(min(colon + 1, line.count))
    try field(line.upTo(colon), value.first == UInt8(ascii: " ") ? value.from(1) : value, in: number)
    return nil
  }

  private mutating func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in line: Int) throws {
    if name.equals("data") {
      guard data.count + value.count <= maximumSize else {
        throw StreamLineTooLongError(line: line, limitBytes: maximumSize)
      }
      data.append(contentsOf: value)
      data.append(UInt8(ascii: "\n"))
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
