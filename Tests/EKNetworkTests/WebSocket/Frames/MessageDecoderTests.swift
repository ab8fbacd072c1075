import Testing

@testable import EKNetwork

/// A frame as a server sends it.
func serverFrame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
  switch payload.count {
  case ...125: [first, UInt8(payload.count)] + payload
  case ...0xFFFF: [first, 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
  default: [first, 127] + stride(from: 56, through: 0, by: -8).map { UInt8(payload.count >> $0 & 0xFF) } + payload
  }
}

@Suite("WebSocket frames")
struct MessageDecoderTests {
  private func events(
    _ pieces: [Data], limit: Int = 1 << 20, inflates: Bool = false
  ) -> [MessageDecoder.Event] {
    let inflater = inflates ? MessageInflater(keepsContext: true) : nil
    var receiver = MessageDecoder(maximumMessageSize: limit, inflater: inflater)
    var events: [MessageDecoder.Event] = []
    for piece in pieces {
      piece.withUnsafeBytes { bytes in
        var offset = 0
        while let event = receiver.next(in: bytes, from: &offset) { events.append(event) }
      }
    }
    return events
  }

  private func failure(_ bytes: [UInt8], limit: Int = 1 << 20) -> WebSocketCloseCode? {
    guard case .failure(let failure)? = events([Data(bytes)], limit: limit).last else { return nil }
    return failure.code
  }

  @Test("Messages, fragments and control frames are the same for any chunking")
  func everyCut() {
    var input = serverFrame(0x81, Array("grüße".utf8)) + serverFrame(0x02, [1, 2]) + serverFrame(0x89, [7])
    input += serverFrame(0x00, []) + serverFrame(0x80, [3]) + serverFrame(0x8A, []) + serverFrame(0x81, [])
    input += serverFrame(0x82, [UInt8](repeating: 9, count: 200)) + serverFrame(0x88, [3, 0xE8, 0x6F, 0x6B])
    let expected: [MessageDecoder.Event] = [
      .message(.text("grüße")), .ping(Data([7])), .message(.binary(Data([1, 2, 3]))), .pong(Data()),
      .message(.text("")), .message(.binary(Data(repeating: 9, count: 200))),
      .close(.normalClosure, reason: "ok"),
    ]
    for pieces in cuts(of: Data(input)) { #expect(events(pieces) == expected) }
  }

  @Test("Invalid frames fail with the right close code")
  func violations() {
    #expect(failure([0xC1, 0]) == .protocolError)
    #expect(failure([0x83, 0]) == .protocolError)
    #expect(failure([0x81, 0x80]) == .protocolError)
    #expect(failure([0x09, 0]) == .protocolError)
    #expect(failure([0x89, 126]) == .protocolError)
    #expect(failure([0x80, 0]) == .protocolError)
    #expect(failure([0x01, 0, 0x81, 0]) == .protocolError)
    #expect(failure([0x82, 126, 0, 125]) == .protocolError)
    #expect(failure([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]) == .protocolError)
    #expect(failure([0x88, 1, 3]) == .protocolError)
    #expect(failure([0x88, 2, 3, 0xED]) == .protocolError)
    #expect(failure([0x88, 3, 3, 0xE8, 0xFF]) == .invalidPayload)
    #expect(failure([0x81, 1, 0xFF]) == .invalidPayload)
    #expect(failure([0x81, 1, 0xC3]) == .invalidPayload)
    #expect(failure([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) == .messageTooBig)
    #expect(failure([0x02, 3, 1, 2, 3, 0x80, 2, 4, 5], limit: 4) == .messageTooBig)
    #expect(failure([0x02, 3, 1, 2, 3, 0x80, 2, 4, 5], limit: 5) == nil)
  }

  @Test("Bytes after a close frame are not read")
  func afterTheClose() {
    let input = serverFrame(0x88, []) + serverFrame(0x81, [0x61]) + [0xFF, 0xFF]
    for pieces in cuts(of: Data(input)) { #expect(events(pieces) == [.close(.noStatusReceived, reason: "")]) }
  }

  @Test("A frame without a payload is complete with its header")
  func emptyFrames() {
    let frames: [([UInt8], MessageDecoder.Event)] = [
      ([0x89, 0], .ping(Data())), ([0x81, 0], .message(.text(""))), ([0x88, 0], .close(.noStatusReceived, reason: "")),
    ]
    for (bytes, event) in frames { #expect(events([Data(bytes)]) == [event]) }
  }

  @Test("A close frame without a code has no payload")
  func closePayload() {
    #expect(FrameEncoder.closePayload(.noStatusReceived, "") == [])
    #expect(FrameEncoder.closePayload(.normalClosure, "a") == [0x03, 0xE8, 0x61])
  }

  @Test("An invalid UTF-8 byte is found before the frame has ended")
  func earlyUTF8() {
    #expect(failure([0x81, 100, 0x61, 0xED, 0xA0]) == .invalidPayload)
  }

  @Test("Compressed messages share their window, and the limit applies to the inflated size")
  func compression() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
    let text = String(repeating: "again and ", count: 100)
    var input: [UInt8] = []
    for message in [text, "", text] {
      let deflated = Array(message.utf8).withUnsafeBytes { deflater.deflate($0) }
      input += serverFrame(0xC1, try #require(deflated))
    }
    for pieces in cuts(of: Data(input)) {
      #expect(events(pieces, inflates: true) == [text, "", text].map { .message(.text($0)) })
    }
    guard case .failure(let failure)? = events([Data(input)], limit: 500, inflates: true).last else {
      Issue.record("It was taken")
      return
    }
    #expect(failure.code == .messageTooBig)
  }

  /// More than one step of inflation, in one frame and in two.
  @Test("A long compressed message may reach the size limit, but not exceed it", arguments: [1, 2])
  func longCompression(_ frames: Int) throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
    let zeros = [UInt8](repeating: 0, count: 300_000)
    let deflated = try #require(zeros.withUnsafeBytes { deflater.deflate($0) })
    let half = deflated.count / 2
    let input =
      frames == 1
      ? serverFrame(0xC2, deflated)
      : serverFrame(0x42, Array(deflated[..<half])) + serverFrame(0x80, Array(deflated[half...]))
    #expect(events([Data(input)], limit: zeros.count, inflates: true) == [.message(.binary(Data(zeros)))])
    guard case .failure(let failure)? = events([Data(input)], limit: zeros.count - 1, inflates: true).last else {
      Issue.record("It was taken")
      return
    }
    #expect(failure.code == .messageTooBig)
  }

  @Test("The size limit applies to the inflated size, also of a message that is larger when compressed")
  func incompressible() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
    let noise = Data.noise(1000)
    let deflated = try #require(noise.withUnsafeBytes { deflater.deflate($0) })
    #expect(deflated.count > noise.count)
    let input = Data(serverFrame(0xC2, deflated))
    for pieces in cuts(of: input) {
      #expect(events(pieces, limit: noise.count, inflates: true) == [.message(.binary(noise))])
    }
    guard case .failure(let failure)? = events([input], limit: noise.count - 1, inflates: true).last else {
      Issue.record("It was taken")
      return
    }
    #expect(failure.code == .messageTooBig)
  }

  @Test("The first of two faults in a compressed message is reported for any chunking")
  func firstFault() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
    let text = [0x61, 0xFF] + [UInt8](repeating: 0x61, count: 2000)
    let deflated = try #require(text.withUnsafeBytes { deflater.deflate($0) })
    let expected = MessageDecoder.Event.failure(ProtocolFailure(.invalidPayload, "The text is not UTF-8"))
    for pieces in cuts(of: Data(serverFrame(0xC1, deflated))) {
      #expect(events(pieces, limit: 1000, inflates: true) == [expected])
    }
  }

  @Test("Random bytes never trap, and decode the same in one piece and byte by byte")
  func randomBytes() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      var input = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
        UInt8.random(in: .min ... .max, using: &generator)
      }
      // With a plausible start the parser gets further.
      if let first = [0x81, 0x82, 0x88, 0x89, 0x01, 0xC1].randomElement(using: &generator) {
        input = [UInt8(first), UInt8.random(in: 0...20, using: &generator)] + input
      }
      let whole = events([Data(input)], limit: 1000, inflates: true)
      #expect(whole == events(input.map { Data([$0]) }, limit: 1000, inflates: true))
    }
  }

  @Test("A client's frame is masked with its key for every length encoding")
  func encoding() {
    for count in [0, 1, 7, 8, 125, 126, 65_535, 65_536] {
      let payload = (0..<count).map { UInt8($0 & 0xFF) }
      let frame = payload.withUnsafeBytes { FrameEncoder.frame(.binary, $0, key: 0x0102_0304) }
      let headSize = count <= 125 ? 2 : count <= 0xFFFF ? 4 : 10
      #expect(frame.count == headSize + 4 + count)
      #expect(frame[0] == 0x82)
      #expect(frame[1] & 0x80 != 0)
      let key = Array(frame[headSize..<headSize + 4])
      #expect(frame[(headSize + 4)...].enumerated().map { $1 ^ key[$0 & 3] } == payload)
    }
  }
}
