import Testing

@testable import EKNetwork

@Suite struct PasswordAnswersTests {
  private let key: PasswordAnswers.Key
  private var answers = PasswordAnswers()
  private let request = PasswordAnswers.Request(method: "GET", target: "/")

  init() throws {
    let origin = try Self.origin("http://a")
    key = PasswordAnswers.Key(
      credential: PasswordCredential(user: "u", password: "p"), origin: origin, trust: nil)
  }

  private static func origin(_ text: String) throws -> Origin {
    let url = try #require(URL(string: text))
    return try #require(Origin(url))
  }

  private func digest(_ nonce: String, isStale: Bool = false) -> [AuthenticationChallenge] {
    AuthenticationChallenge.all(in: "Digest realm=r, qop=auth, nonce=\(nonce)\(isStale ? ", stale=TRUE" : "")")
  }

  private let basic = AuthenticationChallenge.all(in: "Basic realm=\"r\"")

  private func sent(_ answer: PasswordAnswers.Answer?, count: Int) -> PasswordAnswers.Request {
    var request = request
    (request.sent, request.count) = (answer, count)
    return request
  }

  private func count(_ answer: PasswordAnswers.Answer?) -> String? {
    answer.flatMap { AuthenticationChallenge.all(in: $0.field).first?.parameters["nc"] }
  }

  @Test mutating func nothingIsSentBeforeTheServerAsks() {
    #expect(answers.answer(for: key, request) { "c" } == nil)
    #expect(answers.answer(to: [], for: key, request) { "c" } == nil)
    let other = AuthenticationChallenge.all(in: "Negotiate, Bearer realm=r, Basic")
    #expect(answers.answer(to: other, for: key, request) { "c" } == nil)
  }

  @Test mutating func digestIsAnsweredAndRemembered() throws {
    let first = answers.answer(to: digest("n") + basic, for: key, request) { "c" }
    #expect(first?.nonce == "n" && count(first) == "00000001")
    let second = answers.answer(for: key, request) { "c" }
    #expect(second?.nonce == "n" && count(second) == "00000002")
  }

  @Test mutating func requestsThatAreAskedAtOnceHaveNumbersOfTheirOwn() {
    for number in 1...3 {
      let answer = answers.answer(to: digest("n"), for: key, request) { "c" }
      #expect(count(answer) == "0000000\(number)")
    }
    let other = answers.answer(to: digest("m"), for: key, request) { "c" }
    #expect(count(other) == "00000001")
  }

  @Test mutating func nobodyElseGetsAnAnswer() throws {
    _ = answers.answer(to: digest("n"), for: key, request) { "c" }
    let elsewhere = try Self.origin("http://b")
    for other in [
      PasswordAnswers.Key(credential: PasswordCredential(user: "u", password: "q"), origin: key.origin, trust: nil),
      PasswordAnswers.Key(credential: PasswordCredential(user: "v", password: "p"), origin: key.origin, trust: nil),
      PasswordAnswers.Key(credential: key.credential, origin: elsewhere, trust: nil),
      PasswordAnswers.Key(credential: key.credential, origin: key.origin, trust: "other"),
    ] {
      #expect(answers.answer(for: other, request) { "c" } == nil)
    }
  }

  @Test mutating func wrongPasswordIsSentOnce() throws {
    let first = answers.answer(to: digest("1"), for: key, request) { "c" }
    #expect(answers.answer(to: digest("1"), for: key, sent(first, count: 1)) { "c" } == nil)
    #expect(answers.answer(to: digest("2"), for: key, sent(first, count: 1)) { "c" } == nil)
  }

  @Test mutating func staleNonceIsReplacedOnce() throws {
    let first = answers.answer(to: digest("1"), for: key, request) { "c" }
    let second = answers.answer(to: digest("2", isStale: true), for: key, sent(first, count: 1)) { "c" }
    #expect(second?.nonce == "2" && count(second) == "00000001")
    #expect(answers.answer(to: digest("3", isStale: true), for: key, sent(second, count: 2)) { "c" } == nil)
  }

  /// Many servers forget nonces without saying that they were right.
  @Test mutating func answerInAdvanceMayBeTooOld() throws {
    _ = answers.answer(to: digest("1"), for: key, request) { "c" }
    let advance = answers.answer(for: key, request) { "c" }
    #expect(answers.answer(to: digest("1"), for: key, sent(advance, count: 0)) { "c" } == nil)
    let second = answers.answer(to: digest("2"), for: key, sent(advance, count: 0)) { "c" }
    #expect(second?.nonce == "2")
    #expect(answers.answer(to: digest("3"), for: key, sent(second, count: 1)) { "c" } == nil)
  }

  @Test mutating func basicIsAnsweredOnceAndNotRemembered() {
    let first = answers.answer(to: basic, for: key, request) { "c" }
    #expect(first == .basic(key.credential) && first?.field == "Basic dTpw")
    #expect(answers.answer(to: basic, for: key, sent(first, count: 1)) { "c" } == nil)
    #expect(answers.answer(for: key, request) { "c" } == nil)
    // In advance, from the URL.
    #expect(answers.answer(to: basic, for: key, sent(.basic(key.credential), count: 0)) { "c" } == nil)
    #expect(answers.answer(to: digest("n"), for: key, sent(.basic(key.credential), count: 0)) { "c" }?.nonce == "n")
  }

  /// Somebody on the way could ask for it.
  @Test mutating func passwordIsNotRevealedAfterDigest() {
    _ = answers.answer(to: digest("n"), for: key, request) { "c" }
    #expect(answers.answer(to: basic, for: key, request) { "c" } == nil)
  }

  @Test mutating func noMoreThanSomeServersAreRemembered() throws {
    for port in 1000..<1300 {
      let origin = try Self.origin("http://a:\(port)")
      let key = PasswordAnswers.Key(credential: key.credential, origin: origin, trust: nil)
      _ = answers.answer(to: digest("n"), for: key, request) { "c" }
      #expect(answers.answer(for: key, request) { "c" } != nil)
    }
    #expect(answers.answer(for: key, request) { "c" } == nil)
  }

  @Test func passwordIsNotInAnyText() {
    let credential = PasswordCredential(user: "ann", password: "secret")
    var text = "\(credential) \(String(reflecting: credential))"
    dump(credential, to: &text)
    #expect(text.contains("ann") && !text.contains("secret"))
  }
}
