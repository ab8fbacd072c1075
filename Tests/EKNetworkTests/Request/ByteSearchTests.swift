import Testing

@testable import EKNetwork

struct ByteSearchTests {
  @Test func agreesWithNaiveSearch() {
    // Every string of up to 8 letters over {a, b} against patterns that overlap themselves.
    let texts = (0...8).flatMap { length in
      (0..<1 << length).map { bits in [UInt8]((0..<length).map { bits >> $0 & 1 == 0 ? 97 : 98 }) }
    }
    for pattern in ["a", "ab", "aa", "aba", "abab", "aabaa", "bbbb", "abbabb"] {
      let search = ByteSearch(pattern)
      for text in texts {
        let expected = String(decoding: text, as: UTF8.self).contains(pattern)
        #expect(text.withUnsafeBytes(search.occurs) == expected)
      }
    }
  }

  @Test func findsAnEmptyPatternNowhere() {
    #expect(!Data("a".utf8).withUnsafeBytes(ByteSearch("").occurs))
    #expect(!Data().withUnsafeBytes(ByteSearch("a").occurs))
  }
}
