import Foundation

/// Decodes the bytes of a server into messages and control frames (RFC 6455 §5, RFC 7692 §6.2). The events do not
/// depend on how the bytes are split.
struct MessageDecoder {
  enum Event: Sendable, Equatable {
    case message(WebSocketMessage)
    case ping(Data)
    case pong(Data)
    case close(WebSocketCloseCode, reason: String)
    /// The last event: nothing is read after it.
    case failure(ProtocolFailure)
  }

  private let maximumMessageSize: Int
  private let inflater: MessageInflater?
  private var head: [UInt8] = []
  private var frame: FrameHeader?
  private var remaining = 0
  private var control = Data()
  private var kind: FrameOpcode?
  private var isCompressed = false
  private var message = Data()
  private var validator = UTF8Validator()
  /// Whether a close frame or a failure has ended the stream.
  private(set) var isEnded = false

  init(maximumMessageSize: Int, inflater: MessageInflater? = nil) {
    self.maximumMessageSize = max(0, maximumMessageSize)
    self.inflater = inflater
  }

  /// Decodes received bytes and appends the events that they complete.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, into events: inout [Event]) {
    var offset = 0
    while let event = next(in: bytes, from: &offset) { events.append(event) }
  }

  /// Returns the next event of received bytes; `nil` when they are consumed. Bytes behind the event are not decoded
  /// yet, so that no more than one message is in memory however well the bytes were compressed.
  ///
  /// - Parameter offset: The number of bytes that have been consumed.
  mutating func next(in bytes: UnsafeRawBufferPointer, from offset: inout Int) -> Event? {
    var rest = bytes[offset...]
    defer { offset = rest.startIndex }
    do throws(ProtocolFailure) {
      while !isEnded {
        if frame == nil { try readHead(&rest) }
        guard let frame else { return nil }
        let part = rest.prefix(remaining)
        rest = rest.dropFirst(part.count)
        remaining -= part.count
        let piece = UnsafeRawBufferPointer(rebasing: part)
        if frame.opcode.isControl {
          control.append(contentsOf: piece)
        } else {
          try add(piece)
        }
        guard remaining == 0 else { return nil }
        self.frame = nil
        if let event = try finish(frame) { return event }
      }
      return nil
    } catch {
      isEnded = true
      return .failure(error)
    }
  }

  /// Reads the header of a frame, and begins the frame once it is complete.
  private mutating func readHead(_ rest: inout Slice<UnsafeRawBufferPointer>) throws(ProtocolFailure) {
    while true {
      let wanted = head.count < 2 ? 2 : FrameHeader.size(of: head[1])
      let part = rest.prefix(wanted - head.count)
      head.append(contentsOf: part)
      rest = rest.dropFirst(part.count)
      guard head.count == wanted else { return }
      if wanted == 2, let failure = FrameHeader.check(head[0], head[1], allowsCompression: inflater != nil) {
        throw failure
      }
      guard head.count == FrameHeader.size(of: head[1]) else { continue }
      let header = try head.withUnsafeBytes { FrameHeader.parse($0) }.get()
      head.removeAll(keepingCapacity: true)
      return try begin(header)
    }
  }

  private mutating func begin(_ header: FrameHeader) throws(ProtocolFailure) {
    frame = header
    remaining = header.length
    guard !header.opcode.isControl else { return }
    if header.opcode == .continuation {
      guard kind != nil else { throw ProtocolFailure(.protocolError, "Nothing to continue") }
    } else {
      guard kind == nil else { throw ProtocolFailure(.protocolError, "A message begins inside another") }
      kind = header.opcode
      isCompressed = header.isCompressed
    }
    // Checked before any of the payload is stored. A compressed message is measured as it is inflated, and is rarely
    // larger when compressed.
    guard header.length <= maximumMessageSize - (isCompressed ? 0 : message.count) else { throw Self.tooBig }
    if !isCompressed { message.reserveCapacity(message.count + min(header.length, 1 << 20)) }
  }

  private mutating func add(_ piece: UnsafeRawBufferPointer) throws(ProtocolFailure) {
    guard !piece.isEmpty else { return }
    if isCompressed {
      try inflate(piece)
    } else {
      try append(piece)
    }
  }

  private mutating func append(_ piece: UnsafeRawBufferPointer) throws(ProtocolFailure) {
    if kind == .text, !validator.accept(piece) { throw Self.notUTF8 }
    message.append(contentsOf: piece)
  }

  private mutating func inflate(_ piece: UnsafeRawBufferPointer) throws(ProtocolFailure) {
    guard let inflater else { return }
    inflater.feed(piece)
    while let output = try inflater.next() {
      // The part that still fits is validated first, as it is when the bytes arrive one by one.
      let fitting = output.prefix(maximumMessageSize - message.count)
      try append(UnsafeRawBufferPointer(rebasing: fitting))
      guard fitting.count == output.count else { throw Self.tooBig }
    }
  }

  private mutating func finish(_ frame: FrameHeader) throws(ProtocolFailure) -> Event? {
    switch frame.opcode {
    case .ping: return .ping(takeControl())
    case .pong: return .pong(takeControl())
    case .close:
      let event = try Self.close(takeControl())
      isEnded = true
      return event
    case .continuation, .text, .binary:
      return frame.isFinal ? try finishMessage() : nil
    }
  }

  private mutating func takeControl() -> Data {
    defer { control = Data() }
    return control
  }

  private mutating func finishMessage() throws(ProtocolFailure) -> Event {
    if isCompressed {
      // RFC 7692 §7.2.2: the end of the sync flush, which the sender has removed.
      let tail: [UInt8] = [0, 0, 0xFF, 0xFF]
      let result = tail.withUnsafeBytes { bytes in
        Result { () throws(ProtocolFailure) in try inflate(bytes) }
      }
      try result.get()
      inflater?.endMessage()
    }
    let data = message
    let isText = kind == .text
    guard validator.isComplete else { throw Self.notUTF8 }
    message = Data()
    kind = nil
    return .message(isText ? .text(String(decoding: data, as: UTF8.self)) : .binary(data))
  }

  /// Parses the payload of a close frame (RFC 6455 §5.5.1, §7.4).
  private static func close(_ payload: Data) throws(ProtocolFailure) -> Event {
    if payload.isEmpty { return .close(.noStatusReceived, reason: "") }
    guard payload.count >= 2 else { throw ProtocolFailure(.protocolError, "The close frame is one byte long") }
    let bytes = Array(payload)
    let code = WebSocketCloseCode(rawValue: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
    guard code.isSendable else { throw ProtocolFailure(.protocolError, "The close code is not allowed") }
    var validator = UTF8Validator()
    let isText = bytes[2...].withUnsafeBytes { validator.accept($0) }
    guard isText, validator.isComplete else { throw notUTF8 }
    return .close(code, reason: String(decoding: bytes[2...], as: UTF8.self))
  }

  private static let notUTF8 = ProtocolFailure(.invalidPayload, "The text is not UTF-8")
  private static let tooBig = ProtocolFailure(.messageTooBig, "The message is too big")
}
