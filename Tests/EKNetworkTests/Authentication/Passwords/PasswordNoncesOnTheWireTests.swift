import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// Which nonce proves a password next, and what proves that the server has taken it.
extension PasswordsOnTheWireTests {
  private func usesNoncesOnce(
    _ accept: @escaping @Sendable (LoopbackServer.Request, _ next: Int) -> LoopbackServer.Response
  ) {
    let number = Locked(0)
    server.route("/item") { request in
      let field = request.headers["Authorization"] ?? ""
      let nonce = AuthenticationChallenge.all(in: field).first?.parameters["nonce"]
      let (isKnown, next) = number.withLock { number in
        let isKnown = nonce == "\(number)"
        number += 1
        return (isKnown, number)
      }
      guard isKnown else {
        let digest = "Digest realm=\"r\", qop=\"auth\", nonce=\"\(next)\""
        return .status(401, headers: ["WWW-Authenticate": digest])
      }
      return accept(request, next)
    }
  }

  /// RFC 7616 §3.5: a server whose nonces are used once names the next one.
  @Test(arguments: Wire.allCases) func nextNonceIsUsed(_ wire: Wire) async throws {
    usesNoncesOnce { _, next in .status(200, headers: ["Authentication-Info": "qop=auth, nextnonce=\"\(next)\""]) }
    let manager = wire.manager(server)
    for _ in 0..<3 { #expect(try await manager.send(Ask()).statusCode == 200) }
    #expect(schemes == [nil, "Digest", "Digest", "Digest"])
  }

  /// RFC 7616 §3.3.
  @Test(arguments: Wire.allCases) func realmsOfAServerAreKeptApart(_ wire: Wire) async throws {
    func asks(_ path: String, realm: String) {
      server.route(path) { request in
        let field = request.headers["Authorization"] ?? ""
        let sent = AuthenticationChallenge.all(in: field).first?.parameters
        if sent?["realm"] == realm, sent?["nonce"] == "of-\(realm)" { return .status(200) }
        let digest = "Digest realm=\"\(realm)\", qop=\"auth\", nonce=\"of-\(realm)\""
        return .status(401, headers: ["WWW-Authenticate": digest])
      }
    }
    asks("/a/item", realm: "a")
    asks("/b/item", realm: "b")
    let manager = wire.manager(server)
    for path in ["/a/item", "/b/item", "/a/item", "/b/item", "/a/item"] {
      #expect(try await manager.send(Ask(path: path)).statusCode == 200)
    }
    let sent = server.requests.map { request in
      AuthenticationChallenge.all(in: request.headers["Authorization"] ?? "").first?.parameters
    }
    #expect(sent.map { $0?["realm"] } == [nil, "a", "a", "b", "a", "b", "a"])
    #expect(sent.suffix(3).map { $0?["nc"] } == ["00000003", "00000002", "00000004"])
  }

  /// The stored response that a 304 confirms has no nonce, but the 304 has.
  @Test(arguments: [false, true]) func nextNonceOfA304IsUsed(hasMiddleware: Bool) async throws {
    usesNoncesOnce { request, next in
      .status(
        request.headers["If-None-Match"] == nil ? 200 : 304,
        headers: [
          "Authentication-Info": "nextnonce=\"\(next)\"", "Cache-Control": "no-cache", "ETag": "\"1\"",
        ])
    }
    let manager = Wire.automatic.manager(server)
    manager.httpCache = HTTPCache()
    if hasMiddleware { manager.attemptMiddleware = [Intercept.adding("1", to: "X-A")] }
    for _ in 0..<4 { #expect(try await manager.send(Ask()).statusCode == 200) }
    #expect(schemes == [nil, "Digest", "Digest", "Digest", "Digest"])
    #expect(server.requests.suffix(3).allSatisfy { $0.headers["If-None-Match"] != nil })
  }

  /// The server has not looked at the password.
  @Test(arguments: [false, true])
  func responseThatTheServerHasNotSentProvesNothing(isInvented: Bool) async throws {
    server.route("/item") { $0.headers["Authorization"] == nil ? Self.challenge : .status(500) }
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        var response = try await next(request)
        guard response.statusCode == 500 else { return response }
        if isInvented { return NetworkMiddlewareResponse(statusCode: 200) }
        response.statusCode = 200
        return response
      }
    ]
    for _ in 0..<2 { #expect(try await manager.send(Ask()).statusCode == 200) }
    #expect(schemes == [nil, "Digest", nil, "Digest"])
  }

  /// What has proven it is what the server has sent, whatever middleware makes of it.
  @Test func responseThatMiddlewareReplacesProvesThePassword() async throws {
    asksForDigest()
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        let response = try await next(request)
        return response.statusCode == 200 ? NetworkMiddlewareResponse(statusCode: 503) : response
      }
    ]
    for _ in 0..<2 { #expect(try await manager.response(to: Ask()).statusCode == 503) }
    #expect(schemes == [nil, "Digest", "Digest"])
  }
}
