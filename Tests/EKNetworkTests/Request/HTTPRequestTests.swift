import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct HTTPRequestTests {
  private let url = URL(fileURLWithPath: "/a")

  @Test func copiesAreIndependent() {
    let first = HTTPRequest(method: "POST", url: url, fields: ["A": "1"], body: .data(Data("a".utf8)))
    var second = first
    second.method = "PUT"
    second.set("a", "2")
    second.body = nil
    second.setOwnTimeout(3)
    #expect(first.method == "POST" && first.fields == ["A": "1"] && first.data == Data("a".utf8))
    #expect(second.method == "PUT" && second.fields == ["a": "2"] && second.body == nil)
    #expect(first.idleTimeout(default: 1) == .seconds(1) && second.idleTimeout(default: 1) == .seconds(3))
  }

  @Test func fieldsKeepTheirPlace() {
    var request = HTTPRequest(url: url, fields: ["A": "1", "B": "2", "Authorization": "3", "C": "4"])
    request.set("b", "5")
    request.removeOriginFields()
    request.set("D", "6")
    request.set("none", nil)
    #expect(request.fields == ["A": "1", "b": "5", "C": "4", "D": "6"])
    #expect(request.value("b") == "5" && request.value("e") == nil)
  }

  /// What others set, and the library has no use for, gets to the session.
  @Test func remainingPropertiesOfAURLRequestAreKept() throws {
    var given = URLRequest(url: url)
    given.mainDocumentURL = URL(fileURLWithPath: "/main")
    given.httpShouldHandleCookies = false
    given.allowsCellularAccess = false
    given.cachePolicy = .returnCacheDataElseLoad
    given.httpMethod = "POST"
    given.httpBody = Data("a".utf8)
    given.setValue("1", forHTTPHeaderField: "A")
    var request = try HTTPRequest(given)
    #expect(!request.handlesCookies && request.mainDocumentURL == given.mainDocumentURL)
    request.method = "GET"
    request.url = URL(fileURLWithPath: "/b")
    request.body = nil
    request.remove("a")
    let sent = request.urlRequest
    #expect(sent.httpMethod == "GET" && sent.url?.path == "/b" && sent.httpBody == nil && sent.httpBodyStream == nil)
    #expect(sent.value(forHTTPHeaderField: "A") == nil)
    #expect(sent.mainDocumentURL == given.mainDocumentURL && !sent.httpShouldHandleCookies)
    #expect(!sent.allowsCellularAccess && sent.cachePolicy == .returnCacheDataElseLoad)
    request.bypassSystemCache()
    #expect(request.urlRequest.cachePolicy == .reloadIgnoringLocalCacheData)
  }

  @Test func aURLIsNeeded() {
    var request = URLRequest(url: url)
    request.url = nil
    #expect(throws: URLError.self) { try HTTPRequest(request) }
  }

  /// A `URLRequest` has none.
  @Test func orderSurvivesMiddleware() throws {
    let request = HTTPRequest(url: url, fields: ["C": "1", "A": "2", "B": "3"])
    var changed = request.urlRequest
    changed.setValue(nil, forHTTPHeaderField: "A")
    changed.setValue("4", forHTTPHeaderField: "X-B")
    changed.setValue("5", forHTTPHeaderField: "X-A")
    #expect(try HTTPRequest(changed, changing: request).fields == ["C": "1", "B": "3", "X-A": "5", "X-B": "4"])
  }

  /// A dictionary has another order each time.
  @Test func fieldsThatMiddlewareAddsAreSortedByName() throws {
    let request = HTTPRequest(url: url, fields: ["C": "1"])
    let before = request.urlRequest
    var after = before
    for name in ["X-D", "X-B", "X-E", "X-A", "X-C"] { after.setValue("2", forHTTPHeaderField: name) }
    let changed = try RequestChanges(from: before, to: after).applied(to: request)
    #expect(changed.fields.map(\.name) == ["C", "X-A", "X-B", "X-C", "X-D", "X-E"])
  }

  #if os(Linux)
    @Test(arguments: [false, true]) func fieldsAreSentInOrder(_ isBehindMiddleware: Bool) async throws {
      struct Passing: NetworkMiddleware {
        func intercept(
          _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
        ) async throws -> NetworkMiddlewareResponse { try await next(request) }
      }
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/item") { _ in .status(204) }
      let manager = Wire.automatic.manager(server)
      if isBehindMiddleware { (manager.middleware, manager.attemptMiddleware) = ([Passing()], [Passing()]) }
      var request = Probe<EmptyResponse>(path: "/item")
      request.headers = ["X-2": "a", "X-1": "b"]
      request.headerFields = ["X-9": "c", "X-0": "d", "X-5": "e"]
      _ = try await manager.send(request)
      let names = try #require(server.requests.first).headers.map(\.name).filter { $0.hasPrefix("X-") }
      #expect(names == ["X-1", "X-2", "X-9", "X-0", "X-5"])
    }
  #endif
}
