#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// URLs that name a socket, with a server behind it.
  @Suite(.timeLimit(.minutes(5))) struct SocketURLTests {
    private struct Whole: NetworkRequest {
      typealias Response = [String]
      let path = ""
      let method = HTTPMethod.get
      let targetURL: URL?
    }

    private let folder: ScratchFolder
    private let server: LoopbackServer
    private let manager: NetworkManager

    init() throws {
      let folder = try ScratchFolder()
      self.folder = folder
      server = try LoopbackServer { $0.socketPath = folder["a.sock"].path }
      server.route("/seen") { .json([$0.headers["Host"] ?? "", $0.headers["Authorization"] ?? "", $0.target]) }
      manager = try Self.manager(folder["a.sock"].path)
    }

    private static func url(_ path: String) throws -> URL {
      let host = try #require(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
      return try #require(URL(string: "http+unix://\(host)"))
    }

    private static func manager(_ path: String, transport: TransportChoice = .automatic) throws -> NetworkManager {
      NetworkManager(
        baseURL: try url(path), session: URLSession(configuration: .ephemeral), transport: transport)
    }

    @Test func requestsGoToTheSocket() async throws {
      let probe = Probe<[String]>(path: "/seen", queryParameters: ["a": "b"])
      for _ in 0..<3 {
        #expect(try await manager.send(probe) { "secret" } == ["localhost", "Bearer secret", "/seen?a=b"])
      }
      #expect(server.acceptedConnections == 1)
      let next = URL(string: "/seen?page=2", relativeTo: manager.baseURL())?.absoluteURL
      #expect(
        try await manager.send(Whole(targetURL: next)) { "secret" } == ["localhost", "Bearer secret", "/seen?page=2"])
    }

    @Test func hundredBodiesAtOnce() async throws {
      server.route("/echo") { .data($0.body) }
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<100 {
          group.addTask {
            let sent = Data.noise(50_000 + number)
            var probe = Probe<Data>(path: "/echo", method: .post)
            probe.body = RequestBody(data: sent, contentType: "a/b")
            return try await manager.send(probe) == sent
          }
        }
        for try await isSame in group { #expect(isSame) }
      }
    }

    @Test func redirectsStayOnTheSocketOrLeadAwayWithoutCredentials() async throws {
      let other = try LoopbackServer()
      other.route("/seen") { .json([$0.headers["Authorization"] ?? "none"]) }
      server.route("/stay", .redirect(to: "/seen", status: 307))
      server.route("/away", .redirect(to: other.url("/seen").absoluteString, status: 307))
      let stay = try await manager.send(Probe<[String]>(path: "/stay")) { "secret" }
      #expect(stay == ["localhost", "Bearer secret", "/seen"])
      #expect(try await manager.send(Probe<[String]>(path: "/away")) { "secret" } == ["none"])
    }

    /// What listens there trusts those who can reach it.
    @Test func nothingThatServersSayLeadsToSockets() async throws {
      let path = folder["a.sock"].path
      let target = try Self.url(path).appendingPathComponent("seen")
      let other = try LoopbackServer()
      other.fallback = { _ in .redirect(to: target.absoluteString, status: 307) }
      let remote = NetworkManager(baseURL: other.baseURL, session: URLSession(configuration: .ephemeral))
      let third = try LoopbackServer { $0.socketPath = folder["A.sock"].path }
      third.fallback = other.fallback
      for manager in [remote, try Self.manager(folder["A.sock"].path)] {
        let error = await #expect(throws: URLError.self) { try await manager.send(Probe<[String]>(path: "/x")) }
        #expect(error?.code == .unsupportedURL)
        await #expect(throws: NetworkError.invalidURL) { try await manager.send(Whole(targetURL: target)) }
      }
      #expect(server.requests.isEmpty && other.requests.count == 1 && third.requests.count == 1)
    }

    /// libcurl names the host and a port that is not used.
    @Test func messageNamesTheSocketAndTheReason() async throws {
      let file = folder["file"]
      try Data().write(to: file)
      for (path, reason) in [
        (folder["missing"].path, "No such file or directory"), (file.path, "Connection refused"),
      ] {
        let manager = try Self.manager(path)
        let error = await #expect(throws: URLError.self) { try await manager.send(Probe<[String]>()) }
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.localizedDescription == "Failed to connect to the socket \(path): \(reason)")
      }
    }

    @Test func whatCannotBeASocketIsRefused() async throws {
      let long = "/" + String(repeating: "a", count: 107)
      for (path, code) in [("/a\0b", URLError.Code.badURL), (long, .badURL), ("/nowhere", .cannotConnectToHost)] {
        let manager = try Self.manager(path)
        let error = await #expect(throws: URLError.self) { try await manager.send(Probe<[String]>()) }
        #expect(error?.code == code)
      }
      let foundation = try Self.manager(folder["a.sock"].path, transport: .urlSession)
      let error = await #expect(throws: URLError.self) { try await foundation.send(Probe<[String]>(path: "/seen")) }
      #expect(error?.code == .unsupportedURL)
    }
  }
#endif
