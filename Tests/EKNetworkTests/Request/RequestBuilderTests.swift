import Testing

@testable import EKNetwork

struct RequestBuilderTests {
  private func build(_ request: some NetworkRequest) throws -> URLRequest {
    let base = try #require(URL(string: "https://h/api"))
    return try RequestBuilder.build(request, baseURL: base, accessToken: nil, userAgent: nil).urlRequest
  }

  @Test(arguments: HTTPMethod.allCases)
  func setsTheMethod(method: HTTPMethod) throws {
    let request = try build(TestRequest(method: method))
    #expect(request.httpMethod == method.rawValue)
    #expect(request.url?.absoluteString == "https://h/api/items")
    #expect(request.httpBody == nil)
    #expect(request.httpBodyStream == nil)
  }

  @Test func encodesValuesWithTheRequestsEncoder() throws {
    struct Value: Encodable { var firstName = "é"; var tags = [1, 2] }
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.outputFormatting = .sortedKeys
    let request = try build(TestRequest(method: .post, body: RequestBody(encodable: Value()), jsonEncoder: encoder))
    #expect(request.httpBody == Data(#"{"first_name":"é","tags":[1,2]}"#.utf8))
    #expect(try build(TestRequest(body: RequestBody(encodable: "top"))).httpBody == Data("\"top\"".utf8))
  }

  @Test func passesOnEncodingError() {
    #expect(throws: EncodingError.self) { try build(TestRequest(body: RequestBody(encodable: Double.nan))) }
  }

  @Test func sendsRawBytesAndForms() throws {
    let bytes = Data([0, 255, 13, 10])
    #expect(try build(TestRequest(body: RequestBody(data: bytes, contentType: "a/b"))).httpBody == bytes)
    #expect(try build(TestRequest(body: RequestBody(data: Data(), contentType: "a/b"))).httpBody == Data())
    let form = RequestBody(formURLEncoded: ["b": "x y", "a": "1"])
    #expect(try build(TestRequest(body: form)).httpBody == Data("a=1&b=x+y".utf8))
  }

  @Test func expectsNothingWithoutContent() throws {
    func expectation(_ body: RequestBody, _ method: HTTPMethod = .put) throws -> String? {
      let probe = Probe<EmptyResponse>(method: method, body: body, expectsContinue: true)
      return try build(probe).value(forHTTPHeaderField: "Expect")
    }
    let body = RequestBody(data: Data("a".utf8), contentType: "a/b")
    #expect(try expectation(body) == "100-continue")
    #expect(try expectation(RequestBody(stream: InputStream(data: Data()), contentType: "a/b")) == "100-continue")
    #expect(try expectation(RequestBody(data: Data(), contentType: "a/b")) == nil)
    #expect(try expectation(body, .head) == nil)
  }

  @Test func doesNotCopyRawBytes() throws {
    let bytes = Data(repeating: 7, count: 1 << 20)
    let sent = try #require(try build(TestRequest(body: RequestBody(data: bytes, contentType: "a/b"))).httpBody)
    let addresses = [bytes, sent].map { $0.withUnsafeBytes { $0.baseAddress } }
    #expect(addresses[0] == addresses[1])
  }

  @Test func handsOverTheStreamUnopened() throws {
    let stream = InputStream(data: Data("abc".utf8))
    let request = try build(TestRequest(method: .put, body: RequestBody(stream: stream, contentType: "a/b")))
    #expect(request.httpBodyStream === stream)
    #expect(request.httpBody == nil)
    #expect(stream.streamStatus == .notOpen)
  }

  @Test func sendsAMultipartForm() throws {
    var form = MultipartFormData(boundary: "B")
    form.addPart(name: "a", data: Data("1".utf8), mimeType: "text/plain")
    let request = try build(TestRequest(method: .post, multipartData: form))
    #expect(request.httpBody == form.encodedData())
    #expect(request.value(forHTTPHeaderField: "Content-Length") == form.encodedData().map { "\($0.count)" })
  }

  @Test func refusesTwoBodies() {
    let request = TestRequest(body: RequestBody(encodable: 1), multipartData: MultipartFormData())
    #expect(throws: NetworkError.conflictingBodyTypes) { try build(request) }
  }

  @Test func refusesAFormThatCannotBeEncoded() {
    var form = MultipartFormData()
    form.addPart(name: "a", data: Data(), mimeType: "a/b\r\nX: 1")
    #expect(throws: NetworkError.invalidMultipartEncoding) { try build(TestRequest(multipartData: form)) }
  }

  @Test(arguments: [
    (Duration.milliseconds(250), 0.25), (.seconds(30), 30), (.microseconds(1_500), 0.0015), (.zero, 0.001),
    (.nanoseconds(1), 0.001), (.seconds(-5), 0.001), (.seconds(Int64.max), 1e9), (.seconds(Int64.min), 0.001),
    (.seconds(2_000_000_000), 1e9),
  ])
  func clampsTimeout(timeout: Duration, expected: TimeInterval) throws {
    #expect(abs(try build(TestRequest(timeout: timeout)).timeoutInterval - expected) < 1e-9)
  }

  @Test func keepsDefaultTimeoutWithoutOne() throws {
    let url = try #require(URL(string: "https://h"))
    #expect(try build(TestRequest()).timeoutInterval == URLRequest(url: url).timeoutInterval)
    func idle(_ timeout: Duration?) throws -> Duration? {
      try HTTPRequest(build(TestRequest(timeout: timeout))).idleTimeout(default: 5)
    }
    #expect(try idle(nil) == .seconds(5))
    #expect(try idle(.milliseconds(250)) == .milliseconds(250))
    // 60 s is the default of `URLRequest`, but here it is set explicitly.
    #expect(try #require(try idle(.seconds(60))) >= .seconds(60))
  }

  @Test func readsEveryPropertyAtMostOnce() throws {
    final class Counter: NetworkRequest {
      typealias Response = EmptyResponse
      var reads: [String: Int] = [:]
      private func read<Value>(_ value: Value, _ name: String = #function) -> Value {
        reads[name, default: 0] += 1
        return value
      }
      var path: String { read("a") }
      var method: HTTPMethod { read(.post) }
      var headers: [String: String]? { read(["X-A": "1"]) }
      var queryParameters: [String: String]? { read(["q": "1"]) }
      var contentType: String { read("application/json") }
      var body: RequestBody? { read(RequestBody(encodable: 1)) }
      var multipartData: MultipartFormData? { read(nil) }
      var timeout: Duration? { read(.seconds(1)) }
      var pathIsPercentEncoded: Bool { read(false) }
      var jsonEncoder: JSONEncoder { read(JSONEncoder()) }
    }
    let request = Counter()
    _ = try build(request)
    #expect(request.reads.count == 10)
    #expect(request.reads.values.allSatisfy { $0 == 1 })
  }
}
