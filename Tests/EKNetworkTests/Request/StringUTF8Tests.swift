import Foundation
import Testing

@testable import EKNetwork

struct StringUTF8Tests {
  @Test(arguments: ["", "plain", "ü €", "\u{FEFF}marked", "\u{FFFD} is a character like others", "a\0b", "👩‍👩‍👧"])
  func decodesValidUTF8(text: String) {
    #expect(Array(text.utf8).withUnsafeBytes { String(utf8Bytes: $0) } == text)
  }

  @Test(
    arguments: [
      [0x80], [0x61, 0xFF], [0xC3], [0xE2, 0x82], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
      // As many bytes as the replacement character.
      [0xF0, 0x9F, 0x98], [0xFF, 0xFF, 0xFF],
    ] as [[UInt8]])
  func invalidUTF8IsNil(bytes: [UInt8]) {
    #expect(bytes.withUnsafeBytes { String(utf8Bytes: $0) } == nil)
  }
}
