import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct HARExchangeListTests {
  private func exchange(_ number: Int, body: Int) throws -> HARExchange {
    let url = try #require(URL(string: "https://a.example/"))
    var content = HARContent()
    content.append(Data(count: body), limit: .max)
    return HARExchange(
      number: number, started: Date(timeIntervalSince1970: 0),
      request: HARRequest(URLRequest(url: url), redaction: HARRedaction(salt: "", hidesSecrets: true)),
      response: .init(status: 200, reason: "", fields: HeaderFieldList(), content: content),
      timings: HARTimings(head: .zero, total: .zero, network: nil))
  }

  @Test func sizeIsBounded() throws {
    var backlog = HARExchangeList(HAROptions(maximumEntries: 100, maximumSize: 10_000))
    for number in 0..<50 { backlog.append(try exchange(number, body: 3000)) }
    #expect(backlog.exchanges.map(\.number) == [47, 48, 49])
    #expect(backlog.dropped == 47)
    // An entry that exceeds the limit by itself empties the backlog.
    backlog.append(try exchange(50, body: 20_000))
    #expect(backlog.exchanges.isEmpty && backlog.dropped == 51)
    backlog.append(try exchange(51, body: 1))
    #expect(backlog.exchanges.count == 1)
  }

  @Test(arguments: [0, -1])
  func nothingIsKeptWithoutCapacity(limit: Int) throws {
    var backlog = HARExchangeList(HAROptions(maximumEntries: limit))
    backlog.append(try exchange(1, body: 1))
    #expect(backlog.exchanges.isEmpty && backlog.dropped == 1)
  }

  @Test func bodyAndPiecesAreLimited() {
    var content = HARContent()
    for _ in 0..<10_000 { content.append(Data([1, 2]), limit: 15_001) }
    #expect(content.size == 20_000 && content.data.count == 15_001 && content.isTruncated)
    #expect(content.pieces.count == 4096)
    var none = HARContent()
    none.append(Data([1]), limit: 0)
    #expect(none.data.isEmpty && none.pieces.isEmpty && none.isTruncated)
  }
}
