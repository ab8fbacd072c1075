import Testing

@testable import EKNetwork

struct CacheDecisionTests {
  @Test(arguments: [
    (PrismCachePolicy.networkOnly, [false, false]), (.cacheFirst, [true, false]), (.cacheThenNetwork, [true, true]),
    (.staleWhileRevalidate, [true, true]),
  ])
  func policyDecidesByFreshness(_ policy: PrismCachePolicy, _ expected: [Bool]) {
    #expect([true, false].map { policy.uses(isFresh: $0) } == expected)
  }

  @Test func uncacheableResponseIsNotStored() {
    for headers in [
      ["Cache-Control": "private, no-store"], ["cache-control": "No-Store"],
      ["Cache-Control": "no-store; max-age=9"], ["Vary": "*"], ["vary": "Accept, *"],
    ] {
      #expect(!PrismCacheEntry(data: Data(), headers: headers).mayBeStored)
    }
    #expect(!PrismCacheEntry(data: Data(), statusCode: 206).mayBeStored)
    for control in ["no-cache", "private=\"a, no-store\""] {
      #expect(PrismCacheEntry(data: Data(), headers: ["Cache-Control": control, "Vary": "Accept"]).mayBeStored)
    }
  }

  @Test func keyCoversURLMethodHeadersAndBody() throws {
    func key(_ change: (inout LocalEndpoint) -> Void) throws -> String {
      var endpoint = LocalEndpoint(host: "h", headers: ["Authorization": "Bearer secret", "Accept": "a/b"])
      change(&endpoint)
      return CacheKey(HopRequest(try endpoint.request)).text
    }
    let base = try key { _ in }
    #expect(!base.contains("secret"))
    #expect(try base == key { $0.headers["X-Request-ID"] = "1" })
    #expect(try base == key { $0.timeoutInterval = 3 })
    let others = try [
      key { $0.path = "/b" }, key { $0.queryItems = [URLQueryItem(name: "a", value: "b")] }, key { $0.host = "i" },
      key { $0.port = 81 }, key { $0.scheme = .https }, key { $0.method = .delete },
      key { $0.headers["Authorization"] = "Bearer other" }, key { $0.headers["Accept"] = "c/d" },
      key { $0.headers["X-Api-Key"] = "1" }, key { $0.headers["User-Agent"] = "u/1" },
      key { $0.headers["User-Agent"] = "u/2" }, key { $0.headers = [:] }, key { $0.text = "a" }, key { $0.text = "b" },
    ]
    #expect(Set(others + [base]).count == others.count + 1)
  }

  @Test(arguments: ["maria@", "maria:secret@", ":secret@"])
  func urlCredentialsAreHashedInKey(user: String) throws {
    func key(_ url: String) throws -> String {
      CacheKey(HopRequest(URLRequest(url: try #require(URL(string: url))))).text
    }
    let text = try key("http://\(user)h/a")
    #expect(!text.contains("maria") && !text.contains("secret") && !text.contains("@"))
    #expect(try text != key("http://h/a"))
  }

  @Test func relativeURLHasKeyOfWholeURL() throws {
    let base = try #require(URL(string: "http://maria:secret@h/a/"))
    let relative = try #require(URL(string: "b", relativeTo: base))
    let text = CacheKey(HopRequest(URLRequest(url: relative))).text
    #expect(text.hasPrefix("GET http://h/a/b "))
    #expect(text == CacheKey(HopRequest(URLRequest(url: relative.absoluteURL))).text)
  }
}
