import Foundation
import Testing

@testable import EKNetwork

struct MessageEncoderTests {
  private static let long = String(repeating: "a long message ", count: 100)

  private func firstByte(of message: WebSocketMessage, deflater: MessageDeflater?) -> UInt8? {
    MessageEncoder(deflater: deflater, minimumSize: 100).frames(of: message).next().frame.first
  }

  /// RFC 7692 §6: RSV1 marks a compressed message.
  @Test func compressedMessageSetsRSV1() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
    #expect(firstByte(of: .text(Self.long), deflater: deflater) == 0xC1)
    #expect(firstByte(of: .binary(Data(Self.long.utf8)), deflater: deflater) == 0xC2)
    #expect(firstByte(of: .text("short"), deflater: deflater) == 0x81)
    #expect(firstByte(of: .binary(Data("short".utf8)), deflater: deflater) == 0x82)
  }

  @Test func uncompressedMessageDoesNotSetRSV1() {
    #expect(firstByte(of: .text(Self.long), deflater: nil) == 0x81)
    #expect(firstByte(of: .binary(Data(Self.long.utf8)), deflater: nil) == 0x82)
  }

  /// With a shared context, the second message refers to the first.
  @Test func contextMakesSecondMessageShorter() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
    let encoder = MessageEncoder(deflater: deflater, minimumSize: 0)
    let sizes = (1...2).map { _ in encoder.frames(of: .text(Self.long)).next().frame.count }
    #expect(sizes[1] < sizes[0])
  }
}
