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
  private var head = FrameHeaderReader()
  private var frame: FrameHeader?
  private var remaining = 0
  private var control = Data()
  private var kind: FrameOpcode?
  private var isCompressed = false
  private var message = Data()
  private var validator = UTF8Validator()
  private(set) var isEnded = false

  init(maximumMessageSize: Int, inflater: MessageInflater? = nil) {
    self.maximumMessageSize = max(0, maximumMessageSize)
    self.inflater = inflater
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
        if frame == nil, let header = try head.next(from: &rest, allowsCompression: inflater != nil) {
          try begin(header)
        }
        guard let frame else { return nil }
        let part = rest.prefix(remaining)
        rest = rest.dropFirst(part.count)
        remaining -= part.count
        let piece = UnsafeRawBufferPointer(rebasing: part)
        if frame.opcode.isControl {
          control.append(contentsOf: piece)
        } else if isCompressed, !piece.isEmpty {
          try inflate(piece)
        } else {
          try append(piece)
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
    // A compressed message is measured as it is inflated, and nothing of it is stored before: what cannot be compressed
    // is larger when it is (RFC 1951 §3.2.4).
    guard !isCompressed else { return }
    // Checked before any of the payload is stored.
    guard header.length <= maximumMessageSize - message.count else { throw Self.tooBig }
    message.reserveCapacity(message.count + min(header.length, 1 << 20))
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

  private mutating func takeControl() -> Data { exchange(&control, with: Data()) }

  private mutating func finishMessage() throws(ProtocolFailure) -> Event {
    if isCompressed {
      // RFC 7692 §7.2.2: the end of the sync flush, which the sender has removed.
      let tail: [UInt8] = [0, 0, 0xFF, 0xFF]
      try tail.withUnsafeBufferPointer { (bytes) throws(ProtocolFailure) in
        try inflate(UnsafeRawBufferPointer(bytes))
      }
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

/// Finds the pings and pongs of a server in bytes that are buffered for later. The bytes are not changed; a
/// ``MessageDecoder`` decodes and validates them later.
struct ControlScanner {
  enum Control: Sendable, Equatable {
    case ping(Data)
    case pong(Data)
  }

  private var head = FrameHeaderReader()
  private var opcode: FrameOpcode?
  private var remaining = 0
  private var payload = Data()
  /// Whether scanning has ended, because a close frame or an invalid frame was found.
  private(set) var isOver = false

  /// Scans bytes that follow those of earlier calls; the first ones begin a frame.
  mutating func scan(_ bytes: ArraySlice<UInt8>) -> [Control] {
    var rest = bytes
    var controls: [Control] = []
    while !isOver {
      if opcode == nil {
        do throws(ProtocolFailure) {
          guard let header = try head.next(from: &rest, allowsCompression: true) else { break }
          (opcode, remaining) = (header.opcode, header.length)
        } catch {
          isOver = true
        }
      }
      guard let opcode else { break }
      let part = rest.prefix(remaining)
      rest = rest.dropFirst(part.count)
      remaining -= part.count
      if opcode.isControl { payload.append(contentsOf: part) }
      guard remaining == 0 else { break }
      switch opcode {
      case .ping: controls.append(.ping(payload))
      case .pong: controls.append(.pong(payload))
      case .close: isOver = true
      case .continuation, .text, .binary: break
      }
      payload = Data()
      self.opcode = nil
    }
    return controls
  }
}

/// An incremental UTF-8 validator (RFC 3629), which finds invalid bytes when they arrive, not when the text has ended.
struct UTF8Validator: Sendable {
  /// The number of missing continuation bytes, and the valid range of the next one.
  private var missing = 0
  private var lowest: UInt8 = 0x80
  private var highest: UInt8 = 0xBF

  var isComplete: Bool { missing == 0 }

  /// Validates more bytes; returns false if they cannot be part of valid UTF-8.
  mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    let count = bytes.count
    while index < count {
      if missing == 0 {
        while index + 8 <= count,
          bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        {
          index += 8
        }
        guard index < count else { return true }
      }
      guard accept(bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  private mutating func accept(_ byte: UInt8) -> Bool {
    if missing > 0 {
      guard lowest...highest ~= byte else { return false }
      missing -= 1
      (lowest, highest) = (0x80, 0xBF)
      return true
    }
    // The ranges of RFC 3629 §4: no overlong form, no surrogate, nothing past U+10FFFF.
    switch byte {
    case 0x00...0x7F: break
    case 0xC2...0xDF: missing = 1
    case 0xE0: (missing, lowest) = (2, 0xA0)
    case 0xED: (missing, highest) = (2, 0x9F)
    case 0xE1...0xEF: missing = 2
    case 0xF0: (missing, lowest) = (3, 0x90)
    case 0xF1...0xF3: missing = 3
    case 0xF4: (missing, highest) = (3, 0x8F)
    default: return false
    }
    return true
  }
}
