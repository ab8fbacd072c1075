import Testing

@testable import EKNetwork

@Suite struct HeaderSyntaxTests {
  @Test(arguments: [
    ("", ""), (" ", ""), ("\t \t", ""), ("a", "a"), (" a", "a"), ("a\t", "a"), ("\t a b\t ", "a b"), (" é ", "é"),
  ])
  func blanksAroundValueAreRemoved(_ value: String, _ expected: String) {
    #expect(HeaderSyntax.trimmedValue(value) == expected)
  }

  @Test(arguments: ["a\r", "a\nb", "\0", "a\u{7F}", "\u{1F}a"])
  func controlCharacterIsRejected(_ value: String) {
    #expect(HeaderSyntax.trimmedValue(value) == nil)
  }
}
