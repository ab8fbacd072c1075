import Foundation

extension LoopbackServer {
  /// The server's side of a WebSocket, without extensions. It must be used on the thread that received it.
  public struct WebSocketPeer {
    /// A frame as received, unmasked.
    public struct Frame: Sendable, Hashable {
      /// Whether the frame is the last of its message.
      public var isFinal: Bool
      /// The opcode: 0 continuation, 1 text, 2 binary, 8 close, 9 ping, 10 pong.
      public var opcode: UInt8
      /// The payload.
      public var payload: Data
    }

    private let stream: ByteStream
    private let buffer = Buffer()

    private final class Buffer {
      var bytes = Data()
    }

    init(stream: ByteStream) { self.stream = stream }

    /// The underlying byte stream, for sending invalid frames.
    public var bytes: ByteStream { stream }

    /// Returns the next frame, blocking; `nil` if the client has disconnected.
    public func readFrame() -> Frame? {
      guard let head = take(2) else { return nil }
      var length = Int(head[1] & 0x7F)
      if length > 125 {
        guard let more = take(length == 126 ? 2 : 8) else { return nil }
        length = Int(truncatingIfNeeded: more.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
      }
      guard let mask = take(head[1] & 0x80 == 0 ? 0 : 4), length >= 0, let payload = take(length) else { return nil }
      var plain = payload
      if !mask.isEmpty {
        plain.withUnsafeMutableBufferPointer { bytes in
          for index in bytes.indices { bytes[index] ^= mask[index & 3] }
        }
      }
      return Frame(isFinal: head[0] & 0x80 != 0, opcode: head[0] & 0x0F, payload: Data(plain))
    }

    /// Returns the next text or binary message, blocking. It responds to pings, and to a close frame, after which it
    /// returns `nil`.
    public func readMessage() -> Data? {
      var message = Data()
      while let frame = readFrame() {
        switch frame.opcode {
        case 8:
          send(opcode: 8, frame.payload)
          return nil
        case 9: send(opcode: 10, frame.payload)
        case 10: continue
        default:
          message += frame.payload
          if frame.isFinal { return message }
        }
      }
      return nil
    }

    /// Sends one frame. Returns false if the client has disconnected.
    @discardableResult
    public func send(opcode: UInt8, _ payload: Data, isFinal: Bool = true) -> Bool {
      var frame = Data([(isFinal ? 0x80 : 0) | opcode])
      switch payload.count {
      case ...125: frame.append(UInt8(payload.count))
      case ...0xFFFF: frame += [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
      default: frame += [127] + stride(from: 56, through: 0, by: -8).map { UInt8(payload.count >> $0 & 0xFF) }
      }
      return stream.write(frame + payload)
    }

    /// Sends a text message.
    @discardableResult
    public func send(_ text: String) -> Bool { send(opcode: 1, Data(text.utf8)) }

    /// Sends a close frame.
    public func close(_ code: Int, _ reason: String = "") {
      send(opcode: 8, Data([UInt8(code >> 8 & 0xFF), UInt8(code & 0xFF)]) + Data(reason.utf8))
    }

    private func take(_ count: Int) -> [UInt8]? {
      while buffer.bytes.count < count {
        guard let more = stream.read() else { return nil }
        buffer.bytes.append(more)
      }
      defer { buffer.bytes.removeFirst(count) }
      return Array(buffer.bytes.prefix(count))
    }
  }
}

extension LoopbackServer.Response {
  /// Returns a response that accepts a WebSocket; the closure has exclusive use of the connection, which is closed when
  /// it returns.
  public static func webSocket(
    _ request: LoopbackServer.Request, subprotocol: String? = nil, extensions: String? = nil,
    _ serve: @escaping @Sendable (LoopbackServer.WebSocketPeer) -> Void
  ) -> LoopbackServer.Response {
    guard let key = request.headers["Sec-WebSocket-Key"] else { return .text("Not a WebSocket\n", status: 426) }
    var fields: HeaderFields = [
      "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": AcceptKey.answer(to: key),
    ]
    if let subprotocol { fields.append("Sec-WebSocket-Protocol", subprotocol) }
    if let extensions { fields.append("Sec-WebSocket-Extensions", extensions) }
    return .upgrade(headers: fields) { serve(LoopbackServer.WebSocketPeer(stream: $0)) }
  }

  /// Returns a response that accepts a WebSocket and echoes every message.
  public static func webSocketEcho(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
    webSocket(request) { peer in
      while let frame = peer.readFrame() {
        switch frame.opcode {
        case 8:
          peer.send(opcode: 8, frame.payload)
          return
        case 9: peer.send(opcode: 10, frame.payload)
        case 10: break
        default: peer.send(opcode: frame.opcode, frame.payload, isFinal: frame.isFinal)
        }
      }
    }
  }
}
