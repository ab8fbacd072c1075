import Foundation
import Testing

@testable import EKNetwork

@Suite struct HTTP1ChoiceTests {
  private static let flags = [false, true]

  /// Every combination: without TLS only a proxy matters; with TLS, HTTP/2 is offered until it was not chosen.
  @Test(arguments: flags, flags) func everyCombination(_ isOn: Bool, _ proxy: Bool) {
    let choice = HTTP1Choice(isOn: isOn, mayUseHTTPProxy: proxy)
    for (offers, hasChosen) in Self.flags.flatMap({ offers in Self.flags.map { (offers, $0) } }) {
      #expect(choice.isOwn(isSecure: false, mayOfferHTTP2: offers, hasChosenHTTP1: hasChosen) == (isOn && !proxy))
      #expect(
        choice.isOwn(isSecure: true, mayOfferHTTP2: offers, hasChosenHTTP1: hasChosen)
          == (isOn && !(offers && !hasChosen)))
    }
  }

  private let second: UInt64 = 1_000_000_000
  private let own = ConnectionIdentity.Source(tls: nil, proxies: nil).current(hasLeftOrigin: false)
  private let other = ConnectionIdentity.Source(tls: TLSOptions(pinnedPublicKeys: ["a"]), proxies: nil)
    .current(hasLeftOrigin: false)

  private func origin(_ text: String) throws -> Origin { try #require(URL(string: text).flatMap { Origin($0) }) }

  @Test func originIsRememberedForThoseWhoTrustTheSame() throws {
    var origins = HTTP1Origins()
    let a = try origin("https://a/")
    #expect(!origins.contains(a, own, now: 0))
    origins.insert(a, own, now: 5)
    #expect(origins.contains(a, own, now: 5) && !origins.contains(a, other, now: 5))
    for text in ["https://b/", "https://a:444/", "http://a:443/"] {
      #expect(!origins.contains(try origin(text), own, now: 5), "\(text)")
    }
  }

  @Test func originIsAskedAgain() throws {
    var origins = HTTP1Origins()
    let a = try origin("https://a/")
    origins.insert(a, own, now: 0)
    #expect(origins.contains(a, own, now: 599 * second) && !origins.contains(a, own, now: 600 * second))
    origins.insert(a, own, now: .max)
    #expect(origins.contains(a, own, now: .max - 1))
  }

  @Test func numberOfOriginsIsLimited() throws {
    var origins = HTTP1Origins()
    for number in 0..<3_000 { origins.insert(try origin("https://h\(number)/"), own, now: UInt64(number)) }
    let known = try (0..<3_000).count { origins.contains(try origin("https://h\($0)/"), own, now: 3_000) }
    #expect((1...1_000).contains(known))
    #expect(origins.contains(try origin("https://h2999/"), own, now: 3_000))
  }
}
