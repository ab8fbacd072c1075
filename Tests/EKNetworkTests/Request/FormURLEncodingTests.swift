import Testing

@testable import EKNetwork

struct FormURLEncodingTests {
  private func encode(_ pairs: [String: String]) -> String {
    String(decoding: FormURLEncoding.encode(pairs), as: UTF8.self)
  }

  @Test(arguments: [
    ([:], ""),
    (["": ""], "="),
    (["b": "2", "a": "1", "c": "3"], "a=1&b=2&c=3"),
    (["a b": "c d"], "a+b=c+d"),
    (["k": "*-._~"], "k=*-._%7E"),
    (["k": "a+b&c=d;e#f%"], "k=a%2Bb%26c%3Dd%3Be%23f%25"),
    (["k": "é€😀"], "k=%C3%A9%E2%82%AC%F0%9F%98%80"),
    (["k": "a\r\n\0"], "k=a%0D%0A%00"),
    (["k": "!'()"], "k=%21%27%28%29"),
  ])
  func followsWHATWGSerializer(pairs: [String: String], expected: String) {
    #expect(encode(pairs) == expected)
  }

  @Test func orderedItemsKeepTheirOrder() throws {
    let items = [("b", "1 2"), ("a", nil), ("b", "é")].map { URLQueryItem(name: $0, value: $1) }
    let body = RequestBody(formURLEncoded: items)
    #expect(body.contentType == "application/x-www-form-urlencoded")
    guard case .raw(let data) = body.content else { throw NetworkError.invalidResponse }
    #expect(String(decoding: data, as: UTF8.self) == "b=1+2&a=&b=%C3%A9")
    #expect(FormURLEncoding.encode([] as [URLQueryItem]).isEmpty)
  }

  @Test func roundTripsRandomStrings() {
    var random = HostileStrings(seed: 3)
    for _ in 0..<10_000 {
      let pairs = random.nextPairs()
      let decoded = FormDecoder.pairs(encode(pairs), plusIsSpace: true)
      #expect(Dictionary(uniqueKeysWithValues: decoded) == pairs)
    }
  }
}
