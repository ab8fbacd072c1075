#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Credentials on redirects to another scheme, with a third-party server that speaks TLS.
  @Suite("Redirects to TLS peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil))
  struct SecureRedirectPeerTests {
    /// The head that arrives at the server, as text.
    private struct Head: NetworkRequest {
      struct Response: Decodable, Sendable { var text: String }
      let path: String
      let method = HTTPMethod.get
      let headers: [String: String]? = ["Proxy-Authorization": "own-secret", "X-Own": "own", "Cookie": "own=secret"]

      func decodeResponse(data: Data, response: URLResponse) throws -> Response {
        Response(text: String(decoding: data, as: UTF8.self))
      }
    }

    private let peer: PeerProcess
    private let server: LoopbackServer

    init() throws {
      peer = try PeerProcess.shared("tls.py")
      server = try LoopbackServer()
    }

    private func manager(_ base: URL, cookies: [HTTPCookie] = []) -> NetworkManager {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpAdditionalHeaders = ["X-Api-Key": "session-secret", "X-App": "app"]
      for cookie in cookies { configuration.httpCookieStorage?.setCookie(cookie) }
      return NetworkManager(
        baseURL: base, session: URLSession(configuration: configuration),
        transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
    }

    private func target(_ path: String) throws -> String { try peer.url("echo", path: path).absoluteString }

    @Test("A redirect from http to https drops the origin's credentials")
    func upgrade() async throws {
      let target = try target("/end")
      server.route("/start") { _ in .redirect(to: target, status: 307) }
      let text = try await manager(server.baseURL).send(Head(path: "/start")) { "token-secret" }.text
      let first = String(decoding: try #require(server.requests.first).head, as: UTF8.self)
      for secret in ["own-secret", "own=secret", "session-secret", "token-secret"] {
        #expect(first.contains(secret))
        #expect(!text.contains(secret), "\(secret) went to \(target)")
      }
      #expect(text.contains("X-Own: own"))
      #expect(text.contains("X-App: app"))
    }

    @Test("Session cookies follow their host on a redirect; secure ones are sent over https only")
    func cookies() async throws {
      struct Plain: NetworkRequest {
        typealias Response = Head.Response
        let path: String
        let method = HTTPMethod.get
        func decodeResponse(data: Data, response: URLResponse) throws -> Response {
          Response(text: String(decoding: data, as: UTF8.self))
        }
      }
      func cookie(_ name: String, _ more: [HTTPCookiePropertyKey: Any] = [:]) throws -> HTTPCookie {
        let properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: "1", .domain: "127.0.0.1", .path: "/"]
        return try #require(HTTPCookie(properties: properties.merging(more) { $1 }))
      }
      let cookies = [try cookie("plain"), try cookie("safe", [.secure: "TRUE"]), try cookie("other", [.path: "/x"])]
      let target = try target("/end")
      server.route("/start") { _ in .redirect(to: target, status: 307) }
      let text = try await manager(server.baseURL, cookies: cookies).send(Plain(path: "/start")).text
      #expect(server.requests.first?.header("Cookie") == "plain=1")
      #expect(text.contains("Cookie: plain=1; safe=1\r\n"))
    }

    @Test("A redirect within an https origin keeps all fields")
    func sameOrigin() async throws {
      let manager = manager(try peer.url("echo", path: ""))
      let text = try await manager.send(Head(path: "/to//end")) { "token-secret" }.text
      #expect(text.hasPrefix("GET /end "))
      for secret in ["own-secret", "own=secret", "session-secret", "token-secret"] { #expect(text.contains(secret)) }
    }

    @Test("A redirect from https to http fails and sends nothing, even if the request began over http")
    func downgrade() async throws {
      let back = server.url("/back").absoluteString
      let https = try peer.url("echo", path: "")
      for (base, path) in [(https, "/to/\(back)"), (server.baseURL, "/start")] {
        let away = try target("/to/\(back)")
        server.route("/start") { _ in .redirect(to: away, status: 307) }
        let error = await #expect(throws: URLError.self) {
          try await manager(base).send(Head(path: path)) { "token-secret" }
        }
        #expect(error?.code == .appTransportSecurityRequiresSecureConnection)
      }
      #expect(server.requests(path: "/back").isEmpty)
    }
  }
#endif
