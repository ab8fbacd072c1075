import Testing

@testable import EKNetwork

struct OutputBufferTests {
  /// Sends a body of pieces, some bytes at a time, and returns what was sent.
  private func send(_ pieces: [[UInt8]], length: Int64?, trailers: String = "", step: Int) -> [UInt8] {
    var (buffer, sent, index) = (OutputBuffer(), [UInt8](), 0)
    buffer.append(Array("head".utf8))
    var isOver = false
    while true {
      while !buffer.isEmpty {
        let piece = buffer.pending.prefix(step)
        sent += piece
        buffer.sent(piece.count)
      }
      if isOver { return sent }
      let result = buffer.fill(upTo: length ?? .max, isChunked: length == nil) { target in
        guard index < pieces.count else { return .end }
        defer { index += 1 }
        target.copyBytes(from: pieces[index])
        return .bytes(pieces[index].count)
      }
      guard case .end = result else { continue }
      isOver = true
      if length == nil { buffer.appendLastChunk(trailers: Array(trailers.utf8)) }
    }
  }

  @Test(arguments: [1, 2, 7, 100_000]) func bodyIsSentAsItIs(_ step: Int) {
    let pieces = [Array("abc".utf8), Array(repeating: 7, count: OutputBuffer.pieceSize), [1]]
    let count = Int64(pieces.joined().count)
    #expect(send(pieces, length: count, step: step) == Array("head".utf8) + pieces.joined())
  }

  /// RFC 9112 §7.1
  @Test(arguments: [1, 5, 100_000]) func bodyOfUnknownLengthIsSentInChunks(_ step: Int) {
    let large = [UInt8](repeating: 7, count: OutputBuffer.pieceSize)
    let expected = Array("head3\r\nabc\r\n10000\r\n".utf8) + large + Array("\r\n0\r\n\r\n".utf8)
    #expect(send([Array("abc".utf8), large], length: nil, step: step) == expected)
    #expect(send([], length: nil, step: step) == Array("head0\r\n\r\n".utf8))
    // A piece without bytes does not end the body.
    #expect(send([[1], [], [2]], length: nil, step: step) == send([[1], [2]], length: nil, step: step))
    #expect(send([], length: nil, trailers: "A: b\r\n", step: step) == Array("head0\r\nA: b\r\n\r\n".utf8))
  }

  @Test(arguments: [true, false]) func bodyThatIsNotReadyLeavesNothing(_ isChunked: Bool) {
    var buffer = OutputBuffer()
    guard case .pending = buffer.fill(upTo: .max, isChunked: isChunked, { _ in .pending }) else {
      Issue.record("It has to wait.")
      return
    }
    #expect(buffer.isEmpty && buffer.pending.isEmpty)
  }

  /// One packet is enough for a small request.
  @Test func smallBodyFollowsTheHeadAtOnce() {
    var buffer = OutputBuffer()
    buffer.append(Array("head".utf8))
    buffer.sent(1)
    guard case .pending = buffer.fill(upTo: 3, isChunked: false, { _ in .pending }) else {
      Issue.record("It has to wait.")
      return
    }
    #expect(Array(buffer.pending) == Array("ead".utf8))
    _ = buffer.fill(upTo: 3, isChunked: false) {
      $0.copyBytes(from: Array("ab".utf8))
      return .bytes(2)
    }
    #expect(Array(buffer.pending) == Array("eadab".utf8))
  }

  @Test func noMoreIsReadThanTheLimit() {
    var buffer = OutputBuffer()
    _ = buffer.fill(upTo: 3, isChunked: false) {
      #expect($0.count == 3)
      return .bytes($0.count)
    }
    #expect(buffer.pending.count == 3)
  }
}
