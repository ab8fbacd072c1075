import Testing

@testable import EKNetwork

struct HeaderFieldsTests {
  private func headers(
    _ request: TestRequest, token: String? = nil, userAgent: String? = nil
  ) throws -> [String: String] {
    let base = try #require(URL(string: "https://h"))
    return try RequestBuilder.build(request, baseURL: base, accessToken: token, userAgent: userAgent)
      .urlRequest.allHTTPHeaderFields ?? [:]
  }

  @Test func sendsTheDefaults() throws {
    #expect(try headers(TestRequest()) == ["Accept": "application/json"])
    #expect(
      try headers(TestRequest(), token: "t0k", userAgent: "App/1")
        == ["Accept": "application/json", "Authorization": "Bearer t0k", "User-Agent": "App/1"])
    for blank in ["", "  ", "\t"] {
      let body = RequestBody(data: Data("1".utf8), contentType: blank)
      #expect(
        try headers(TestRequest(body: body), token: blank, userAgent: blank)
          == ["Accept": "application/json", "Content-Length": "1"])
    }
    #expect(try headers(TestRequest(), token: " t0k ")["Authorization"] == "Bearer t0k")
  }

  @Test func requestFieldsOverrideDefaultsInAnyCase() throws {
    let own = ["authorization": "Basic x", "ACCEPT": "text/plain", "user-Agent": "Mine", "X-A": "1", "Host": "other"]
    #expect(try headers(TestRequest(headers: own), token: "t0k", userAgent: "App/1") == own)
  }

  @Test func keepsTheCaseOfNames() throws {
    let own = ["x-lower": "1", "X-UPPER": "2", "eTag": "3", "Accept": "*/*"]
    #expect(try headers(TestRequest(headers: own)) == own)
  }

  @Test func joinsNamesThatDifferInCaseOnly() throws {
    for _ in 0..<20 {
      let own = ["x-a": "3", "X-A": "1", "X-a": "2", "cookie": "b=2", "Cookie": "a=1", "accept": "b", "Accept": "a"]
      #expect(try headers(TestRequest(headers: own)) == ["X-A": "1, 2, 3", "Cookie": "a=1; b=2", "Accept": "a, b"])
    }
  }

  @Test func listMayRepeatNames() throws {
    let list = HeaderFieldList([
      ("Forwarded", "for=b"), ("forwarded", "for=a"), ("Cookie", "b=2"), ("cookie", "c=3"), ("X-A", "2"),
      ("ACCEPT", "a/b"),
      ("authorization", "Basic x"),
    ])
    let own = ["x-a": "1", "Cookie": "a=1"]
    #expect(
      try headers(TestRequest(headers: own, headerFields: list), token: "t0k") == [
        "Forwarded": "for=b, for=a", "Cookie": "a=1; b=2; c=3", "x-a": "1, 2", "ACCEPT": "a/b",
        "authorization": "Basic x",
      ])
    #expect(
      try headers(TestRequest(headers: own, headerFields: HeaderFieldList())) == headers(TestRequest(headers: own)))
    for field in [
      (name: "a b", value: "1"), (name: "X-A", value: "1\r\nX-B: 2"), (name: "Transfer-Encoding", value: "a"),
    ] {
      #expect(throws: InvalidHeaderError.self) {
        try headers(TestRequest(headerFields: HeaderFieldList([(name: "X-A", value: "0"), field])))
      }
    }
  }

  @Test(arguments: [
    "", " ", "a b", "a:", ":a", "a\r\nb", "a\0", "é", "a\t", "a(", "a/b", "a\"", "a,b", "a=b", "[a]", "{a}", "X-A ",
  ])
  func refusesNonTokenNames(name: String) throws {
    #expect(throws: InvalidHeaderError(field: name, reason: .invalidName)) {
      try headers(TestRequest(headers: [name: "v"]))
    }
  }

  @Test(arguments: [
    "\r", "\n", "\r\n", "a\r\nInjected: 1", "a\nb", "a\0b", "\0", "a\u{1}", "\u{1B}[0m", "a\u{7F}", "a\n", "\na",
  ])
  func refusesControlCharactersInValues(value: String) throws {
    #expect(throws: InvalidHeaderError(field: "X-A", reason: .invalidValue)) {
      try headers(TestRequest(headers: ["X-A": value]))
    }
    #expect(throws: InvalidHeaderError(field: "Authorization", reason: .invalidValue)) {
      try headers(TestRequest(), token: value)
    }
    #expect(throws: InvalidHeaderError(field: "User-Agent", reason: .invalidValue)) {
      try headers(TestRequest(), userAgent: value)
    }
    #expect(throws: InvalidHeaderError(field: "Content-Type", reason: .invalidValue)) {
      try headers(TestRequest(contentType: value, body: RequestBody(encodable: 1)))
    }
    #expect(throws: InvalidHeaderError(field: "Content-Type", reason: .invalidValue)) {
      try headers(TestRequest(body: RequestBody(data: Data(), contentType: value)))
    }
  }

  @Test(arguments: [
    ("a", "a"), ("a\tb", "a\tb"), (" a ", "a"), ("\t a b\t ", "a b"), ("", ""), ("  ", ""), ("é日😀", "é日😀"),
    ("\u{85}", "\u{85}"),
  ])
  func trimsAndKeepsOtherValues(value: String, expected: String) throws {
    #expect(try headers(TestRequest(headers: ["X-A": value]))["X-A"] == expected)
  }

  @Test func reportsSameInvalidFieldEveryTime() throws {
    for _ in 0..<20 {
      #expect(throws: InvalidHeaderError(field: "B", reason: .invalidValue)) {
        try headers(TestRequest(headers: ["C": "\0", "A": "1", "B": "\r", "D": "\n", "a": "2"]))
      }
    }
  }

  @Test(arguments: ["Transfer-Encoding", "transfer-encoding", "TRANSFER-ENCODING"])
  func refusesTransferEncoding(name: String) throws {
    #expect(throws: InvalidHeaderError(field: name, reason: .managedByLibrary)) {
      try headers(TestRequest(headers: [name: "chunked"]))
    }
  }

  @Test func sendsActualContentLength() throws {
    let body = RequestBody(data: Data("12345".utf8), contentType: "text/plain")
    #expect(try headers(TestRequest(body: body))["Content-Length"] == "5")
    let contradicted = try headers(TestRequest(headers: ["content-length": "3", "Content-Length": "0"], body: body))
    #expect(contradicted.filter { $0.key.lowercased() == "content-length" } == ["Content-Length": "5"])
    #expect(try headers(TestRequest(body: RequestBody(data: Data(), contentType: "a/b")))["Content-Length"] == "0")
    #expect(try headers(TestRequest(body: RequestBody(formURLEncoded: [:])))["Content-Length"] == "0")
    #expect(try headers(TestRequest(method: .post))["Content-Length"] == nil)
    #expect(try headers(TestRequest(headers: ["Content-length": "7"])) == ["Accept": "application/json"])
    let stream = RequestBody(stream: InputStream(data: Data("abc".utf8)), contentType: "a/b")
    #expect(
      try headers(TestRequest(headers: ["CONTENT-LENGTH": "3"], body: stream))
        == ["Accept": "application/json", "Content-Type": "a/b"])
  }

  @Test func choosesTheContentType() throws {
    func type(_ request: TestRequest) throws -> String? {
      try headers(request).first { $0.key.lowercased() == "content-type" }?.value
    }
    let json = RequestBody(encodable: ["a": 1])
    let raw = RequestBody(data: Data(), contentType: "image/png")
    var form = MultipartFormData(boundary: "B")
    form.addPart(name: "a", data: Data(), mimeType: "")

    #expect(try type(TestRequest()) == nil)
    #expect(try type(TestRequest(contentType: "x/y")) == "x/y")
    #expect(try type(TestRequest(headers: ["content-type": "own/type"], contentType: "x/y")) == "own/type")
    #expect(try type(TestRequest(body: json)) == "application/json")
    #expect(try type(TestRequest(contentType: "application/vnd.api+json", body: json)) == "application/vnd.api+json")
    #expect(try type(TestRequest(contentType: "x/y", body: raw)) == "image/png")
    let text = RequestBody(data: Data(), contentType: "application/json")
    #expect(try type(TestRequest(contentType: "x/y", body: text)) == "application/json")
    #expect(
      try type(TestRequest(contentType: "x/y", body: RequestBody(formURLEncoded: [:])))
        == "application/x-www-form-urlencoded")
    #expect(try type(TestRequest(headers: ["content-type": "own/type"], contentType: "x/y", body: raw)) == "own/type")
    #expect(try type(TestRequest(contentType: "x/y", multipartData: form)) == "multipart/form-data; boundary=B")
    #expect(try type(TestRequest(headers: ["Content-Type": "own/type"], multipartData: form)) == "own/type")
    #expect(
      try type(TestRequest(headers: ["Content-type": "Multipart/Related; type=x"], multipartData: form))
        == "Multipart/Related; type=x; boundary=B")
    #expect(
      try type(TestRequest(headers: ["Content-type": "multipart/form-data; boundary=C"], multipartData: form))
        == "multipart/form-data; boundary=C")
    #expect(try type(TestRequest(body: RequestBody(data: Data(), contentType: ""))) == nil)
  }

  /// The body may be a form that was built elsewhere, and its content type any text.
  @Test(
    arguments: [
      ("multipart/form-data; boundary=B", "multipart/mixed; boundary=B"),
      ("multipart/related; boundary=B; type=x", "multipart/mixed; boundary=B"),
      ("multipart/related; type=x; boundary=\"a b\"", "multipart/mixed; boundary=\"a b\""),
      ("multipart/related", "multipart/mixed"), ("text/plain; boundary=B", "multipart/mixed"),
      ("multipart/mixed; boundary=B\r\nX: 1", nil),
    ] as [(String, String?)])
  func ownMultipartTypeGetsTheBoundaryOfTheBody(_ contentType: String, _ sent: String?) throws {
    let body = RequestBody(data: Data("--B--".utf8), contentType: contentType)
    let request = TestRequest(headers: ["content-type": "multipart/mixed"], body: body)
    if let sent {
      #expect(try headers(request).field("Content-Type") == sent)
    } else {
      #expect(throws: InvalidHeaderError(field: "content-type", reason: .invalidValue)) { try headers(request) }
    }
  }
}
