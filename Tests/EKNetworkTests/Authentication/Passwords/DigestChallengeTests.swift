import Testing

@testable import EKNetwork

struct DigestChallengeTests {
  private func challenge(_ field: String) throws -> DigestChallenge {
    try #require(DigestChallenge.best(of: AuthenticationChallenge.all(in: field)))
  }

  private func answer(
    _ field: String, user: String = "Mufasa", password: String = "Circle of Life", method: String = "GET",
    target: String = "/dir/index.html", count: UInt32 = 1, clientNonce: String
  ) throws -> [String: String] {
    let answer = try challenge(field).authorization(
      as: PasswordCredential(user: user, password: password), method: method, target: target, count: count,
      clientNonce: clientNonce)
    return try #require(AuthenticationChallenge.all(in: answer).first).parameters
  }

  /// RFC 7616 §3.9.1.
  @Test func examplesOfTheStandard() throws {
    let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    let rest =
      "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", nonce=\"\(nonce)\", "
      + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
    let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    for (algorithm, response) in [
      ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
      ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ] {
      let answer = try answer("Digest \(rest), algorithm=\(algorithm)", clientNonce: clientNonce)
      #expect(
        answer == [
          "username": "Mufasa", "realm": "http-auth@example.org", "uri": "/dir/index.html", "algorithm": algorithm,
          "nonce": nonce, "nc": "00000001", "cnonce": clientNonce, "qop": "auth", "response": response,
          "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
        ])
    }
  }

  /// RFC 2617 §3.5, and the same without `qop`, as RFC 2069 has it, and with a key for the session.
  @Test(arguments: [
    (", qop=\"auth\"", "6629fae49393a05397450978507c4ef1"), ("", "670fd8c2df070c60b045671b8b24ff02"),
    (", qop=auth, algorithm=MD5-sess", "8e3825c57e897f5a0dec6c2d4e5059d0"),
  ])
  func olderForms(_ parameters: String, _ response: String) throws {
    let field = "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"\(parameters)"
    let answer = try answer(field, password: "Circle Of Life", clientNonce: "0a4f113b")
    #expect(answer["response"] == response)
    #expect((answer["nc"] == nil) == parameters.isEmpty)
  }

  @Test func strongestIsChosen() throws {
    let md5 = "Digest realm=a, nonce=1, qop=auth"
    let sha = "Digest realm=a, nonce=2, qop=auth, algorithm=sha-256"
    for field in ["\(md5), \(sha)", "\(sha), \(md5)", "\(sha), Digest realm=a, nonce=3, algorithm=SHA-512-256"] {
      #expect(try challenge(field).nonce == "2")
    }
  }

  @Test(arguments: [
    "Basic realm=a, nonce=b", "Digest realm=a", "Digest nonce=a", "Digest realm=a, nonce=b, nonce=c",
    "Digest realm=a, nonce=b, algorithm=SHA-512-256", "Digest realm=a, nonce=b, algorithm=unknown",
    "Digest realm=a, nonce=b, qop=auth-int", "Digest realm=a, nonce=b, algorithm=MD5-sess",
    "Digest realm=a, nonce=\"\(String(repeating: "b", count: 8192))\"",
  ])
  func othersAreNotAnswered(_ field: String) {
    #expect(DigestChallenge.best(of: AuthenticationChallenge.all(in: field)) == nil)
  }

  @Test func namesAreWrittenSafely() throws {
    let field = "Digest realm=\"a\\\"b\\\\c\", nonce=d, qop=auth"
    #expect(try answer(field, user: "a\"b\\c", clientNonce: "0")["username"] == "a\"b\\c")
    #expect(try answer(field, clientNonce: "0")["realm"] == "a\"b\\c")
    #expect(try answer(field, user: "Jäsøn\r\n", clientNonce: "0")["username*"] == "UTF-8''J%C3%A4s%C3%B8n%0D%0A")
    let hashed = try answer(field + ", userhash=true, algorithm=SHA-256", user: "é", clientNonce: "0")
    #expect(hashed["username"] == SHA256.hexadecimal(Array("é:a\"b\\c".utf8)) && hashed["userhash"] == "true")
  }

  /// A server without UTF-8 compares the bytes that it has sent. What it says about the user's takes precedence (RFC 7616 §4).
  @Test(arguments: [true, false]) func bytesThatAreNotUTF8AreKept(_ isUTF8: Bool) throws {
    let realm = Array("B".utf8) + [0xFC] + Array("cher".utf8)
    let charset = isUTF8 ? ", charset=UTF-8" : ""
    let field = ObsoleteText.text(
      Array("Digest nonce=n, qop=auth\(charset), realm=\"".utf8) + realm + Array("\"".utf8))
    // Decomposed.
    let answer = try answer(field, user: "Ja\u{308}n", password: "\u{E9}", clientNonce: "c")
    #expect(answer["realm"].flatMap(ObsoleteText.bytes) == realm)
    let user: [UInt8] = [0x4A, 0xE4, 0x6E]
    if isUTF8 {
      #expect(answer["username*"] == "UTF-8''Ja%CC%88n")
    } else {
      #expect(answer["username"].flatMap(ObsoleteText.bytes) == user)
    }
    let (first, last) = isUTF8 ? (Array("Ja\u{308}n".utf8), Array("\u{E9}".utf8)) : (user, [0xE9])
    let key = MD5.hexadecimal(first + Array(":".utf8) + realm + Array(":".utf8) + last)
    let request = MD5.hexadecimal(Array("GET:/dir/index.html".utf8))
    #expect(answer["response"] == MD5.hexadecimal(Array("\(key):n:00000001:c:auth:\(request)".utf8)))
  }

  @Test func countIsWrittenWithEightDigits() throws {
    let field = "Digest realm=a, nonce=d, qop=auth"
    #expect(try answer(field, count: 255, clientNonce: "0")["nc"] == "000000ff")
    #expect(try answer(field, count: .max, clientNonce: "0")["nc"] == "ffffffff")
  }
}

/// The examples of RFC 1321 §A.5, and lengths around block boundaries, computed by `md5sum`.
struct MD5Tests {
  @Test(arguments: [
    ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
    ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
    (String(repeating: "a", count: 55), "ef1772b6dff9a122358552954ad0df65"),
    (String(repeating: "a", count: 56), "3b0c8ac703f828b04c6c197006d17218"),
    (String(repeating: "a", count: 64), "014842d480b571495a4a0363793f7367"),
  ])
  func examples(_ text: String, _ hash: String) { #expect(MD5.hexadecimal(Array(text.utf8)) == hash) }
}
