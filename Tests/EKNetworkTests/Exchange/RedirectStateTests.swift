import Testing

@testable import EKNetwork

struct RedirectStateTests {
  private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]

  /// What each of the methods becomes (RFC 9110 §15.4.2 to §15.4.9).
  private static let becomes: [(status: Int, methods: [String])] = [
    (301, ["GET", "HEAD", "GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]),
    (302, ["GET", "HEAD", "GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]),
    (303, ["GET", "HEAD", "GET", "GET", "GET", "GET", "GET", "GET"]),
    (307, methods),
    (308, methods),
  ]

  @Test(arguments: becomes)
  func statusDecidesMethodAndContent(_ row: (status: Int, methods: [String])) throws {
    for (method, expected) in zip(Self.methods, row.methods) {
      var request = try request("http://a/from", method: method)
      request.httpBody = Data("body".utf8)
      request.allHTTPHeaderFields = [
        "content-type": "text/x", "Content-Length": "4", "Content-Encoding": "gzip", "Content-Language": "en",
        "Content-Location": "/x", "Content-Digest": "sha-256=:eA==:", "Digest": "sha-256=eA==", "Content-MD5": "eA==",
        "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Trailer": "X-Sum", "X-Own": "kept",
      ]
      let next = try follow(request, status: row.status, location: "/to")
      #expect(next.httpMethod == expected, "\(row.status) \(method)")
      #expect(next.url?.absoluteString == "http://a/to")
      #expect(next.value(forHTTPHeaderField: "X-Own") == "kept")
      let keepsContent = expected == method
      #expect((next.httpBody == Data("body".utf8)) == keepsContent, "\(row.status) \(method)")
      for name in try #require(request.allHTTPHeaderFields).keys where name != "X-Own" {
        #expect((next.value(forHTTPHeaderField: name) != nil) == keepsContent, "\(row.status) \(method) \(name)")
      }
    }
  }

  @Test(arguments: [200, 201, 204, 300, 304, 305, 306, 309, 399, 400, 401, 500])
  func otherStatusesAreTheResponse(_ status: Int) throws {
    #expect(try received(status: status, location: "/to").isDelivery)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func rejectedRedirectIsTheResponse(_ status: Int) throws {
    #expect(try received(status: status, location: "/to", policy: .reject).isDelivery)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirectWithoutLocationIsTheResponse(_ status: Int) throws {
    #expect(try received(status: status, location: nil).isDelivery)
  }

  /// RFC 3986 §5.4, with its base.
  private static let references: [(reference: String, target: String)] = [
    ("g:h", ""), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
    ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
    ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
    ("g;x", "http://a/b/c/g;x"),
    ("g;x?y#s", "http://a/b/c/g;x?y#s"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
    ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
    ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
    ("g.", "http://a/b/c/g."), ("g..", "http://a/b/c/g.."), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"),
    ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g?y/../x", "http://a/b/c/g?y/../x"),
    ("http://b:8080/x", "http://b:8080/x"), ("HTTP://b/x", "HTTP://b/x"),
  ]

  @Test(arguments: references)
  func locationsAreRelativeToTheRequest(_ row: (reference: String, target: String)) throws {
    let request = try request("http://a/b/c/d;p?q")
    guard !row.target.isEmpty else {
      let code = try received(status: 302, location: row.reference, for: request).errorCode
      #expect(code == .unsupportedURL)
      return
    }
    #expect(try follow(request, status: 302, location: row.reference).url?.absoluteString == row.target)
  }

  /// RFC 9110 §10.2.2.
  @Test(arguments: [
    ("/y", "http://a/y#one%2520two"), ("/y#other", "http://a/y#other"), ("/y#", "http://a/y#"),
    ("http://b/y?z", "http://b/y?z#one%2520two"),
  ])
  func locationInheritsTheRequestFragment(_ location: String, _ expected: String) throws {
    let request = try request("http://a/x#one%2520two")
    #expect(try follow(request, status: 302, location: location).url?.absoluteString == expected)
  }

  @Test(arguments: [
    ("ftp://a/x", URLError.Code.unsupportedURL), ("javascript:alert(1)", .unsupportedURL),
    ("file:///etc/passwd", .unsupportedURL), ("data:text/plain,x", .unsupportedURL), ("mailto:a@b", .unsupportedURL),
    ("http://", .badURL), ("http:///x", .badURL), ("http://[", .badURL), ("//a:65536/", .badURL),
    ("//a b/", .badURL),
  ])
  func invalidTargetIsRefused(_ location: String, _ code: URLError.Code) throws {
    #expect(try received(status: 302, location: location).errorCode == code)
  }

  @Test(arguments: ["", " ", "\r\nLocation:"])
  func emptyLocationMakesTheRedirectTheResponse(_ location: String) throws {
    #expect(try received(status: 302, location: location).isDelivery)
  }

  @Test(arguments: [
    ("/t\r\nLocation: /t", "http://a/t"), ("/t\r\nlocation:", "http://a/t"), ("\r\nLocation: /t", "http://a/t"),
    ("/1, /2", "http://a/1,%20/2"), ("/t\r\nLocation: /t?", nil), ("/t\r\nX: 1\r\nLocation: http://b/t", nil),
  ])
  func repeatedLocationsAreOneIfTheyAreEqual(_ lines: String, _ target: String?) throws {
    var state = RedirectState(policy: .follow)
    let request = try request("http://a/from", method: "POST")
    let action = state.received(try head(303, lines), for: HopRequest(request), decision: .undecided)
    #expect(state.hasChangedMethod)
    if let target { return #expect(try action.target().url?.absoluteString == target) }
    #expect(action.errorCode == .badServerResponse)
    #expect(action.error?.localizedDescription.contains("location") == true)
  }

  @Test func httpsToHTTPRedirectIsRefused() throws {
    let request = try request("https://a/from")
    let action = try received(status: 302, location: "http://a/to", for: request)
    #expect(action.errorCode == .appTransportSecurityRequiresSecureConnection)
    #expect(try follow(request, status: 302, location: "//a/to").url?.scheme == "https")
    #expect(try follow(try self.request("http://a/"), status: 302, location: "https://a/").url?.scheme == "https")
  }

  /// RFC 6454 §5: an origin is scheme, host and port.
  private static let origins: [(from: String, to: String, isSame: Bool)] = [
    ("http://a/x", "http://a/y", true), ("http://a/x", "http://A/y", true), ("http://a/x", "http://a:80/y", true),
    ("https://a/x", "https://a:443/y", true), ("http://a/x", "http://a:8080/y", false),
    ("http://a/x", "http://b/y", false), ("http://a/x", "http://sub.a/y", false),
    ("http://sub.a/x", "http://a/y", false),
    ("http://a/x", "https://a/y", false), ("http://a:443/x", "https://a/y", false),
    ("http://a/x", "http://a./y", false),
  ]

  @Test(arguments: origins)
  func credentialsStayWithTheirOrigin(_ row: (from: String, to: String, isSame: Bool)) throws {
    var request = try request(row.from)
    request.allHTTPHeaderFields = [
      "authorization": "Bearer t", "Cookie": "a=1", "Proxy-Authorization": "x", "Host": "virtual", "X-Own": "kept",
      "traceparent": "00-1-2-01", "TraceState": "a=b",
    ]
    let next = try follow(request, status: 302, location: row.to)
    for name in ["Authorization", "Cookie", "Proxy-Authorization", "Host", "traceparent", "tracestate"] {
      #expect((next.value(forHTTPHeaderField: name) != nil) == row.isSame, "\(name)")
    }
    #expect(next.value(forHTTPHeaderField: "X-Own") == "kept")
  }

  @Test func credentialsStayDroppedBackAtTheOrigin() throws {
    var state = RedirectState(policy: .follow)
    var request = try request("http://a/1")
    request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
    let away = try state.received(try head(302, "http://b/2"), for: HopRequest(request), decision: .undecided).target()
    let back = try state.received(try head(302, "http://a/3"), for: HopRequest(away), decision: .undecided).target()
    #expect(back.url?.absoluteString == "http://a/3")
    #expect(back.value(forHTTPHeaderField: "Authorization") == nil)
  }

  @Test func redirectsAreLimitedToTwenty() throws {
    var state = RedirectState(policy: .follow)
    var request = try request("http://a/0")
    for hop in 1...20 {
      request = try state.received(try head(302, "/\(hop)"), for: HopRequest(request), decision: .undecided).target()
    }
    #expect(state.hops == 20)
    let action = state.received(try head(302, "/21"), for: HopRequest(request), decision: .undecided)
    #expect(action.errorCode == .httpTooManyRedirects)
    #expect(action.error?.localizedDescription.contains("20") == true)
  }

  @Test func redirectLoopIsReported() throws {
    var state = RedirectState(policy: .follow)
    var request = try request("http://a/0")
    for hop in 1...20 {
      request = try state.received(try head(302, "/\(hop % 2)"), for: HopRequest(request), decision: .undecided)
        .target()
    }
    let action = state.received(try head(302, "/1"), for: HopRequest(request), decision: .undecided)
    #expect(action.errorCode == .httpTooManyRedirects)
    #expect(action.error?.localizedDescription.contains("Redirect loop") == true)
  }

  @Test(arguments: [(301, "PUT"), (302, "PATCH"), (307, "POST"), (308, "POST")])
  func usedStreamMakesTheRedirectTheResponse(_ status: Int, _ method: String) throws {
    let stream = InputStream(data: Data(count: 3))
    var request = try request("http://a/", method: method)
    request.httpBodyStream = stream
    #expect(try follow(request, status: status, location: "/to").httpBodyStream === stream)
    stream.open()
    #expect(try received(status: status, location: "/to", for: request).isDelivery)
  }

  @Test(arguments: [(301, "POST"), (302, "POST"), (303, "PUT")])
  func usedStreamIsDroppedForGET(_ status: Int, _ method: String) throws {
    let stream = InputStream(data: Data(count: 3))
    var request = try request("http://a/", method: method)
    request.httpBodyStream = stream
    stream.open()
    let next = try follow(request, status: status, location: "/to")
    #expect(next.httpMethod == "GET")
    #expect(next.httpBodyStream == nil)
  }

  @Test func sessionDelegateDecidesRedirects() throws {
    var state = RedirectState(policy: .follow)
    let request = try request("http://a/")
    let chosen = try self.request("http://chosen/")
    #expect(state.received(try head(302, "/to"), for: HopRequest(request), decision: .declined).isDelivery)
    let next = try state.received(try head(302, "/to"), for: HopRequest(request), decision: .request(chosen)).target()
    #expect(next.url == chosen.url)
    #expect(state.hops == 1)
  }

  /// Credentials that the delegate sets are sent; those of the request stay with its origin.
  @Test(arguments: [
    ("https://a/to", "Bearer t", "Bearer t"), ("https://b/to", "Bearer t", nil),
    ("https://b/to", "Bearer b", "Bearer b"),
    ("https://a:81/to", "Bearer t", nil), ("http://a/to", "Bearer t", "refused"), ("http://b/to", nil, "refused"),
    ("ftp://a/", nil, "refused"), ("https://b/to", nil, nil),
  ])
  func rulesApplyToRequestsOfTheDelegate(_ target: String, _ token: String?, _ expected: String?) throws {
    var state = RedirectState(policy: .follow)
    var request = try request("https://a/")
    request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
    request.setValue("sid=1", forHTTPHeaderField: "Cookie")
    var chosen = try self.request(target)
    chosen.allHTTPHeaderFields = ["Cookie": "sid=1", "X-Own": "1"]
    chosen.setValue(token, forHTTPHeaderField: "authorization")
    let action = state.received(try head(302, "/to"), for: HopRequest(request), decision: .request(chosen))
    guard expected != "refused" else { return #expect(action.errorCode != nil) }
    let next = try action.target()
    #expect(next.value(forHTTPHeaderField: "Authorization") == expected)
    #expect((next.value(forHTTPHeaderField: "Cookie") != nil) == (target == "https://a/to"))
    #expect(next.value(forHTTPHeaderField: "X-Own") == "1")
    #expect(state.hasLeftOrigin == (target != "https://a/to"))
  }

  // MARK: - Shorthands

  private func request(_ url: String, method: String = "GET") throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.httpMethod = method
    return request
  }

  private func head(_ status: Int, _ location: String?) throws -> ResponseHead {
    let url = try #require(URL(string: "http://a/"))
    let line = location.map { "Location: \($0)\r\n" } ?? ""
    return ResponseHead(try #require(RawHead(bytes: Array("HTTP/1.1 \(status) X\r\n\(line)\r\n".utf8), url: url)))
  }

  private func received(
    status: Int, location: String?, for request: URLRequest? = nil, policy: RedirectPolicy = .follow
  ) throws -> RedirectState.Action {
    var state = RedirectState(policy: policy)
    let request = try request ?? self.request("http://a/from")
    return state.received(try head(status, location), for: HopRequest(request), decision: .undecided)
  }

  private func follow(_ request: URLRequest, status: Int, location: String) throws -> URLRequest {
    try received(status: status, location: location, for: request).target()
  }
}

extension RedirectState.Action {
  fileprivate struct NotFollowed: Error { let action: RedirectState.Action }

  fileprivate var isDelivery: Bool { if case .deliver = self { true } else { false } }

  fileprivate var error: (any Error)? { if case .fail(let error) = self { error } else { nil } }

  fileprivate var errorCode: URLError.Code? { (error as? URLError)?.code }

  fileprivate func target() throws -> URLRequest {
    guard case .follow(let request) = self else { throw NotFollowed(action: self) }
    return request.urlRequest
  }
}
