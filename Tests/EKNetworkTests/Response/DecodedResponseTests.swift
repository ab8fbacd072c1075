import LoopbackServer
import Testing

@testable import EKNetwork

/// Values with the head of their response.
struct DecodedResponseTests {
  @Test(arguments: Wire.allCases) func theHeadIsThatOfTheLastResponse(wire: Wire) async throws {
    let server = try LoopbackServer()
    server.route("/there") { _ in .redirect(to: "/items?page=1", status: 302) }
    server.route("/items") { request in
      .json(
        #"{"id":\#(request.query ?? "" == "page=1" ? 1 : 2)}"#, status: 203,
        headers: ["X-Total": "7", "Link": "</a>; rel=\"prev\", <?page=2>; rel=next"])
    }
    server.route("/missing") { _ in .status(404, headers: ["X-Total": "0"]) }
    let manager = wire.manager(server)
    let first = try await manager.decodedResponse(to: Probe<Numbered>(path: "/there"))
    #expect(first.value.id == 1 && first.statusCode == 203)
    #expect(first.values(for: "x-total") == ["7"] && first.value(forHTTPHeaderField: "X-TOTAL") == "7")
    #expect(first.url == server.url("/items?page=1"))
    #expect(first.link("NEXT") == server.url("/items?page=2") && first.link("prev") == server.url("/a"))
    #expect(first.link("last") == nil)
    var next = Endpoint<Numbered>("")
    next.targetURL = first.link("next")
    #expect(try await manager.decodedResponse(to: next, accessToken: { "t" }).value.id == 2)
    #expect(server.requests.last?.headers["Authorization"] == "Bearer t")
    let whole = try await manager.response(to: next)
    #expect(whole.link("next") == first.link("next"))
    let error = await #expect(throws: HTTPError.self) {
      try await manager.decodedResponse(to: Probe<Numbered>(path: "/missing"))
    }
    #expect(error?.headers["X-Total"] == "0")
    await #expect(throws: DecodingError.self) { try await manager.decodedResponse(to: Probe<[Int]>(path: "/items")) }
  }

  @Test func itTakesTheWayOfSend() async throws {
    let session = StubSession()
    session.on(.get, "/item", .status(503), .status(401), .json(#"{"id":1}"#, headers: ["X-Total": "7"]))
    let url = try #require(URL(string: "https://api.example.com"))
    let manager = NetworkManager(
      baseURL: { url }, transport: TransportSelection.transport(for: session as any URLSessionProtocol),
      clock: RecordingClock())
    let tokens = TestTokens("old")
    manager.tokenRefresher = tokens
    manager.responseDecoderProvider = { JSONDecoder() }
    let request = Probe<Numbered>(retryPolicy: .transientFailures)
    let response = try await manager.decodedResponse(to: request) { tokens.current }
    #expect(response.value.id == 1 && response.values(for: "X-Total") == ["7"] && tokens.count == 1)
    #expect(
      response
        == DecodedResponse(value: Numbered(id: 1), headerFields: response.headerFields, url: response.url))
  }

  @Test(
    arguments: [
      (#"<https://a.example/2>; rel="next""#, "https://a.example/2"),
      ("<b?x=1,2;3>;rel=next", "https://a.example/v/b?x=1,2;3"),
      (#"<a>; title="x, <z>; rel=next"; rel=prev, <c> ; rel = "start Next" ; x"#, "https://a.example/v/c"),
      (#"<a>; rel=prev; rel=next, <d>; REL=NEXT"#, "https://a.example/v/d"),
      (#"<a>; rel=next; anchor="/other", <e>; rel=next"#, "https://a.example/v/e"),
      (#"<a>; title="\"; rel=next, <f>; rel=next"#, nil),
      (#", ,<a>;;; rel=next"#, "https://a.example/v/a"),
      ("<>; rel=next", "https://a.example/v/p?q"),
      ("<a>; rel=nextpage, <b>; relnext, <c; rel=next", nil), ("a; rel=next", nil), ("", nil), ("<", nil),
      ("<a>; rel", nil), ("<a>; rel=", nil), (#"<a>; rel=""#, nil), (#"<a>; rel="next\"#, "https://a.example/v/a"),
      ("<a>;", nil),
      ("<http://[::>; rel=next", nil), ("<a> rel=next", nil), ("<a>; rel=next\u{301}", nil),
    ] as [(String, String?)])
  func linksAreReadAsTheirSpecificationSays(field: String, target: String?) throws {
    let base = try #require(URL(string: "https://a.example/v/p?q"))
    let response = NetworkResponse(statusCode: 200, headerFields: ["link": field], url: base)
    #expect(response.link("next")?.absoluteString == target)
    let decoded = DecodedResponse(
      value: 1, headerFields: ["A": "b", "Link": "</x>; rel=up", "link": .init(field)], url: base)
    #expect(decoded.link("next")?.absoluteString == target && decoded.link("up")?.path == "/x")
  }

  @Test func aRelativeLinkNeedsABase() {
    let response = NetworkResponse(statusCode: 200, headerFields: ["Link": "<a>; rel=next"])
    #expect(response.link("next") == nil)
  }
}
