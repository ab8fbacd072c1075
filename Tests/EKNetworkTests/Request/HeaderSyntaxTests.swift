import Testing

@testable import EKNetwork

struct HeaderSyntaxTests {
  @Test(arguments: [
    ("", ""), (" ", ""), ("\t \t", ""), ("a", "a"), (" a", "a"), ("a\t", "a"), ("\t a b\t ", "a b"), (" é ", "é"),
  ])
  func blanksAroundValueAreRemoved(_ value: String, _ expected: String) {
    #expect(HeaderSyntax.trimmedValue(value) == expected)
  }

  /// RFC 9110 §5.1. Only letters have a case.
  @Test func namesAreComparedWithoutCase() {
    #expect("Content-TYPE".isFieldName("content-type"))
    #expect(HeaderSyntax.isSame("Content-TYPE", "content-type") && HeaderSyntax.isSame("AZ", "az"))
    for (name, other) in [("Date", "rate"), ("@", "`"), ("[", "{"), ("ab", "a")] {
      #expect(!name.isFieldName(other), "\(name)")
    }
    #expect(!HeaderSyntax.isSame("Date", "rate") && !HeaderSyntax.isSame("@", "`"))
  }

  @Test(arguments: ["a\r", "a\nb", "\0", "a\u{7F}", "\u{1F}a"])
  func controlCharacterIsRejected(_ value: String) {
    #expect(HeaderSyntax.trimmedValue(value) == nil)
  }
}
