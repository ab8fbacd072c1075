import Testing

@testable import EKNetwork

struct ByteSetTests {
  @Test func holdsExactlyItsMembers() {
    let members = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    for byte in UInt8.min...UInt8.max {
      #expect(PercentEncoding.unreserved.contains(byte) == members.utf8.contains(byte))
    }
  }

  @Test func tokenCharactersMatchRFC() {
    for byte in UInt8.min...UInt8.max {
      let isTokenCharacter =
        byte > 0x20 && byte < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
      #expect(HeaderSyntax.token.contains(byte) == isTokenCharacter)
    }
  }
}
