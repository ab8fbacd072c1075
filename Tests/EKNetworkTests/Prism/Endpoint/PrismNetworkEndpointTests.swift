import Testing

@testable import EKNetwork

struct PrismNetworkEndpointTests {
  private struct Least: PrismNetworkEndpoint {
    var host = "api.example.com"
    var path = "/a"
  }

  private struct Body<Value: Encodable & Sendable>: PrismNetworkEndpoint {
    var host = "api.example.com"
    var path = "/a"
    var method = PrismNetworkMethod.post
    var headers: [String: String] = [:]
    var value: Value
    var body: (any Encodable)? { value }
  }

  @Test func onlyHostAndPathAreRequired() throws {
    let request = try Least().request
    #expect(request.url?.absoluteString == "https://api.example.com/a")
    #expect(request.httpMethod == "GET")
    #expect(request.httpBody == nil)
    #expect(request.allHTTPHeaderFields ?? [:] == [:])
    #expect(request.timeoutInterval == 60)
    #expect(Least().cacheInterval == nil && Least().port == nil)
  }

  @Test(arguments: [
    ("/v1/users", "https://h/v1/users"), ("", "https://h"), ("/", "https://h/"), ("/a b", "https://h/a%20b"),
    ("/a?b#c", "https://h/a%3Fb%23c"), ("/100%", "https://h/100%25"), ("/ü", "https://h/%C3%BC"),
  ])
  func rawPathIsPercentEncoded(_ path: String, _ url: String) throws {
    #expect(try Least(host: "h", path: path).url.absoluteString == url)
  }

  @Test func queryIsEncodedInOrder() throws {
    var endpoint = LocalEndpoint(scheme: .https, host: "h", path: "/")
    endpoint.queryItems = [
      URLQueryItem(name: "z", value: "1"), URLQueryItem(name: "a", value: "x+y & z=ü;"),
      URLQueryItem(name: "flag", value: nil), URLQueryItem(name: "empty", value: ""),
      URLQueryItem(name: "at", value: "2024-01-01T00:00:00Z"),
    ]
    #expect(
      try endpoint.url.absoluteString
        == "https://h/?z=1&a=x%2By%20%26%20z%3D%C3%BC%3B&flag&empty=&at=2024-01-01T00:00:00Z")
    endpoint.queryItems = []
    #expect(try endpoint.url.absoluteString == "https://h/")
  }

  @Test(arguments: PrismNetworkScheme.allCases) func schemesAndPorts(_ scheme: PrismNetworkScheme) throws {
    let endpoint = LocalEndpoint(scheme: scheme, host: "h.example", port: 8443, path: "/a")
    #expect(try endpoint.url.absoluteString == "\(scheme.rawValue)://h.example:8443/a")
  }

  @Test(arguments: [
    "", " ", "a b", "a/b", "a?b", "a#b", "a@b", "a:80", "a%20b", "[::1", "a\nb", "a\u{0}b", "a\\b", "[evil.example/]",
  ])
  func invalidHostIsRefused(_ host: String) {
    #expect(throws: PrismNetworkError.invalidURL) { try Least(host: host).url }
    #expect(throws: PrismNetworkError.invalidURL) { try Least(host: host).request }
  }

  @Test(arguments: [("::1", "[::1]"), ("[::1]", "[::1]"), ("127.0.0.1", "127.0.0.1"), ("a_b-c.d", "a_b-c.d")])
  func addressesAreValidHosts(_ host: String, _ written: String) throws {
    #expect(try Least(host: host).url.absoluteString == "https://\(written)/a")
  }

  @Test(arguments: ["users", "a/b", "?a", " /a", "/a/../b", "/..", "/%2e%2e/b"])
  func relativeOrClimbingPathIsRefused(_ path: String) {
    #expect(throws: PrismNetworkError.invalidURL) { try Least(path: path).url }
  }

  @Test(arguments: [0, -1, 65_536, Int.max, Int.min]) func invalidPortIsRefused(_ port: Int) {
    #expect(throws: PrismNetworkError.invalidURL) { try LocalEndpoint(port: port).url }
  }

  @Test func stringBodyIsSentAsText() throws {
    let request = try Body(value: #"{"a":"ü"}"#).request
    #expect(request.httpBody == Data(#"{"a":"ü"}"#.utf8))
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "text/plain; charset=utf-8")
  }

  @Test func dataBodyIsSentUnchanged() throws {
    let request = try Body(value: Data([1, 2])).request
    #expect(request.httpBody == Data([1, 2]))
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/octet-stream")
  }

  @Test func otherBodiesAreCompactJSON() throws {
    struct Order: Encodable {
      var when = Date(timeIntervalSince1970: 0)
      var link = "https://h/a"
    }
    let request = try Body(value: Order()).request
    #expect(request.httpBody == Data(#"{"link":"https://h/a","when":"1970-01-01T00:00:00Z"}"#.utf8))
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/json")
  }

  @Test(arguments: ["Content-Type", "content-type"]) func explicitContentTypeIsKept(_ name: String) throws {
    let request = try Body(headers: [name: "application/vnd.a+json"], value: ["a": 1]).request
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/vnd.a+json")
    #expect(request.allHTTPHeaderFields?.count == 1)
  }

  /// A multipart body without a boundary cannot be parsed (RFC 2046 §5.1.1).
  @Test(
    arguments: [
      (nil, "multipart/form-data; boundary=B"), ("multipart/mixed", "multipart/mixed; boundary=B"),
      ("Multipart/Form-Data", "Multipart/Form-Data; boundary=B"),
      ("multipart/mixed; boundary=C", "multipart/mixed; boundary=C"), ("text/plain", "text/plain"),
    ] as [(String?, String)])
  func ownMultipartTypeGetsTheBoundaryOfTheForm(_ own: String?, _ sent: String) throws {
    let form = PrismMultipartFormData(boundary: "B")
    let request = try Body(headers: own.map { ["content-type": $0] } ?? [:], value: form).request
    #expect(request.value(forHTTPHeaderField: "Content-Type") == sent)
    #expect(request.value(forHTTPHeaderField: "Content-Length") == "7")
  }

  @Test(arguments: [["X A": "b"], ["": "b"], ["X-A": "b\r\nX-B: c"], ["Transfer-Encoding": "chunked"]])
  func forbiddenHeaderFieldIsBadRequest(_ headers: [String: String]) async {
    let endpoint = LocalEndpoint(headers: headers)
    #expect(throws: PrismNetworkError.badRequest) { try endpoint.request }
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { _ = try endpoint.request }
    }
    #expect(failure?.underlyingError is InvalidHeaderError)
  }

  @Test func unencodableBodyIsBadRequest() {
    #expect(throws: PrismNetworkError.badRequest) { try Body(value: Double.nan).request }
  }

  @Test func validTimeoutIsApplied() throws {
    #expect(try LocalEndpoint(timeoutInterval: 0.25).request.timeoutInterval == 0.25)
    #expect(try LocalEndpoint(timeoutInterval: 60).request.timeoutInterval == 60)
    for nonsense in [0, -1, Double.nan, .infinity] {
      #expect(try LocalEndpoint(timeoutInterval: nonsense).request.timeoutInterval == 60)
    }
  }

  @Test(
    arguments: [
      (.get, 60, .returnCacheDataElseLoad), (.get, .infinity, .returnCacheDataElseLoad),
      (.get, nil, .reloadIgnoringLocalCacheData), (.get, 0, .reloadIgnoringLocalCacheData),
      (.get, -1, .reloadIgnoringLocalCacheData), (.get, .nan, .reloadIgnoringLocalCacheData),
      (.post, 60, .reloadIgnoringLocalCacheData), (.put, 60, .reloadIgnoringLocalCacheData),
    ] as [(PrismNetworkMethod, TimeInterval?, URLRequest.CachePolicy)])
  func cachePolicyFollowsFromInterval(
    _ method: PrismNetworkMethod, _ interval: TimeInterval?, _ expected: URLRequest.CachePolicy
  ) throws {
    #expect(try LocalEndpoint(method: method, cacheInterval: interval).request.cachePolicy == expected)
  }

  @Test func rawValues() {
    #expect(PrismNetworkMethod.allCases.map(\.rawValue) == ["GET", "POST", "PUT", "PATCH", "DELETE"])
    #expect(PrismNetworkScheme.allCases.map(\.rawValue) == ["http", "https", "ws", "wss"])
    #expect(
      Set(PrismNetworkHeaderType.allCases.map(\.rawValue)) == [
        "application/json", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data",
        "application/pdf", "application/zip", "application/octet-stream", "text/plain", "text/html", "text/css",
        "text/javascript", "image/jpeg", "image/png", "image/gif", "image/svg+xml", "audio/mpeg", "video/mp4",
        "image/*", "audio/*", "video/*", "*/*",
      ])
    #expect(
      PrismCachePolicy.allCases.map(\.rawValue) == [
        "networkOnly", "cacheFirst", "cacheThenNetwork", "staleWhileRevalidate",
      ])
  }

  @Test func entityDescriptionIsJSON() {
    #expect(Teapot(id: 1).description.contains(#""id" : 1"#))
    let list: any PrismEntity = [Teapot(id: 1), Teapot(id: 2)]
    #expect(list.description.contains("2"))
    #expect(Set([Teapot(id: 1), Teapot(id: 1)]).count == 1)
  }

  private struct Reading: PrismEntity {
    var value: Double
    var note = "a \"quoted\"\nnote"
    var date = Date(timeIntervalSince1970: 0)
  }

  @Test func entityDescriptionIsDecodable() throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let reading = Reading(value: 1.5)
    #expect(try decoder.decode(Reading.self, from: Data(reading.description.utf8)) == reading)
    let list = [reading, Reading(value: -1)]
    #expect(try decoder.decode([Reading].self, from: Data(list.description.utf8)) == list)
    #expect(Reading(value: .nan).description == "Reading")
  }
}
