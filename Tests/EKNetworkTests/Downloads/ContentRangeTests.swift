import Testing

@testable import EKNetwork

struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-0/1", 0...0, 1), ("bytes 5-9/*", 5...9, nil), ("Bytes 5-9/10", 5...9, 10),
      ("bytes 9223372036854775806-9223372036854775806/9223372036854775807", (Int64.max - 1)...(Int64.max - 1), .max),
    ] as [(String, ClosedRange<Int64>, Int64?)])
  func parts(text: String, range: ClosedRange<Int64>, total: Int64?) {
    #expect(ContentRange(text)?.range == range)
    #expect(ContentRange(text)?.total == total)
  }

  @Test func unsatisfiedRangeHasOnlyATotal() throws {
    let content = try #require(ContentRange("bytes */10"))
    #expect(content.range == nil)
    #expect(content.total == 10)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes 0-1", "bytes 0/1", "bytes 1-0/2", "bytes 0-1/1", "bytes -1/1", "bytes 0-/1",
    "bytes +0-1/2", "bytes 0-1/-2", "bytes 0-1/2/3", "bytes */*", "lines 0-1/2", "bytes 0-9223372036854775808/*",
    "bytes 0-9223372036854775807/*",
    "bytes=0-1/2", "bytes 0 - 1/2", "bytes  5-9/10", "bytes 0-0x1/9", "bytes ٠-١/٢",
  ])
  func invalidValuesAreRejected(text: String) { #expect(ContentRange(text) == nil) }
}
