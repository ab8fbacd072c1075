import Testing

@testable import EKNetwork

struct AuthenticationChallengeTests {
  private func all(_ field: String) -> [[String: String]] {
    AuthenticationChallenge.all(in: field).map { challenge in
      challenge.parameters.merging(["": challenge.scheme]) { first, _ in first }
    }
  }

  @Test func commasSeparateChallengesAndParameters() {
    #expect(
      all(#"Newauth realm="apps", type=1, title="Login to \"apps\", now", Basic realm="simple""#) == [
        ["": "newauth", "realm": "apps", "type": "1", "title": "Login to \"apps\", now"],
        ["": "basic", "realm": "simple"],
      ])
    #expect(
      all("Negotiate, Digest  Realm = \"a\" ,nonce=b,, DIGEST nonce=\"c\\\\\"") == [
        ["": "negotiate"], ["": "digest", "realm": "a", "nonce": "b"], ["": "digest", "nonce": "c\\"],
      ])
    #expect(all("Basic") == [["": "basic"]])
  }

  @Test(arguments: ["", ",", "=a", "a=b", "\"", "Basic realm=\"", "Digest =, =", "é realm=a", "Basic realm=\"a\\"])
  func anythingCanBeRead(_ field: String) { #expect(all(field).count <= 1) }

  @Test func repeatedParametersAreNoted() {
    #expect(AuthenticationChallenge.all(in: "Digest realm=a, realm=a").map(\.isAmbiguous) == [true])
    #expect(AuthenticationChallenge.all(in: "Digest realm=a, Digest realm=a").map(\.isAmbiguous) == [false, false])
  }

  @Test func floodEnds() {
    #expect(AuthenticationChallenge.all(in: String(repeating: "Basic realm=a,", count: 10_000)).count == 16)
  }
}
