import Testing

@testable import EKNetwork

struct ResponseMutationTests {
  private static let samples = [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2, 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nTransfer-Encoding: identity\r\n\r\nabc",
    "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
  ].map { Array($0.utf8) }

  /// What is inserted: bytes with a meaning, and pieces that bring a sample into other states.
  private static let pieces: [[UInt8]] =
    [
      "\r", "\n", "\r\n", "\r\n\r\n", "\0", " ", "\t", ":", ";", ",", "0", "f", "ffffffffffffffff", "-", "+", "0x",
      "HTTP/1.1 200 OK\r\n", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "\r\n ", "0\r\n\r\n",
    ].map { Array($0.utf8) } + [[0xff], [0x80]]

  private func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix) {
    let index = Int.random(in: 0...bytes.count, using: &random)
    let end = min(bytes.count, index + Int.random(in: 0...8, using: &random))
    switch Int.random(in: 0..<5, using: &random) {
    case 0: bytes.removeSubrange(index..<end)
    case 1: bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0...bytes.count, using: &random))
    case 2: bytes.replaceSubrange(index..<end, with: Self.pieces.randomElement(using: &random) ?? [])
    case 3 where index < bytes.count: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    default: bytes.insert(contentsOf: Self.pieces.randomElement(using: &random) ?? [], at: index)
    }
  }

  /// A number that is printed with a failure is the seed of the sample.
  @Test func changedResponsesHaveOneMeaningHoweverTheyAreSplit() {
    var outcomes: [String: Int] = [:]
    for seed in 0..<4_000 {
      var random = SplitMix(state: UInt64(seed))
      var bytes = Self.samples[seed % Self.samples.count]
      for _ in 0...Int.random(in: 0..<4, using: &random) { mutate(&bytes, &random) }
      let method = seed.isMultiple(of: 7) ? "HEAD" : "GET"
      let whole = ResponseTranscript(bytes, method: method)
      let some = (0..<4).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
      #expect(ResponseTranscript(bytes, method: method, splits: 0..<bytes.count) == whole, "\(seed)")
      #expect(ResponseTranscript(bytes, method: method, splits: some) == whole, "\(seed)")
      outcomes[whole.failure != nil ? "failure" : whole.length != nil ? "end" : "closed", default: 0] += 1
    }
    // The samples are worth something only if each outcome is frequent.
    #expect(outcomes.count == 3 && outcomes.values.allSatisfy { $0 > 400 }, "\(outcomes)")
  }
}
