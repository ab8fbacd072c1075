import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// The log of real requests.
@Suite(.timeLimit(.minutes(5))) struct LoggingOnTheWireTests {
  private let server: LoopbackServer
  private let entries = Locked<[NetworkLogEntry]>([])

  init() throws {
    server = try LoopbackServer()
    server.route("/item", .status(503), .redirect(to: "/moved?code=secret-code", status: 307))
    server.route("/moved") { request in
      request.headers["Authorization"] == "Bearer secret-new"
        ? .json(Item(id: 1, name: "secret-response"), headers: ["X-Own": "secret-field"])
        : .text("secret-reason", status: 401)
    }
    server.route("/refused") { _ in .text("secret-reason", status: 403, headers: ["X-Own": "secret-field"]) }
  }

  private var lines: [String] { entries.withLock { $0.map(\.line) } }

  private func listening(_ manager: NetworkManager) -> NetworkManager {
    manager.logHandler = { [entries] entry in entries.withLock { $0.append(entry) } }
    return manager
  }

  @Test(arguments: Wire.allCases) func everyStepOfARequestIsLoggedWithoutItsSecrets(_ wire: Wire) async throws {
    let manager = listening(wire.manager(server, clock: RecordingClock()))
    let tokens = TestTokens("secret-old") { _ in "secret-new" }
    manager.tokenRefresher = tokens
    let put = ItemProbe(
      method: .put, headers: ["X-Key": "secret-key"], queryParameters: ["key": "secret-query"],
      body: RequestBody(encodable: Item(id: 7, name: "secret-body")),
      retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    #expect(try await manager.send(put) { tokens.current }.name == "secret-response")
    let refused = ItemProbe(path: "/refused", queryParameters: ["key": "secret-query"])
    await #expect(throws: HTTPError.self) { try await manager.send(refused) { tokens.current } }

    let messages = entries.withLock { $0.map(\.message) }
    for message in [
      "Request started", "Retrying the request", "Request redirected", "Refreshing the access token",
      "Request finished", "Request failed",
    ] {
      #expect(messages.contains(message), "\(message)")
    }
    let place = "url=http://127.0.0.1:\(server.port)"
    for url in ["/item?key=<redacted>", "/moved?code=<redacted>", "/refused?key=<redacted>"] {
      #expect(lines.contains { $0.hasSuffix(place + url) || $0.contains(place + url + " ") }, "\(url)")
    }
    // With a filter by level only these are seen.
    for (entry, status, url) in [
      ("Retrying the request", 503, "/item?key=<redacted>"), ("Request failed", 403, "/refused?key=<redacted>"),
    ] {
      let line = lines.first { $0.hasPrefix(entry) } ?? ""
      #expect(line.contains("error=HTTPError \(status)"), "\(line)")
      #expect(line.hasSuffix("status=\(status) \(place)\(url)"), "\(line)")
    }
    #expect(!lines.contains { $0.contains("secret") })
  }

  /// It is lost whenever its server restarts, and requested again.
  @Test(arguments: Wire.allCases) func lostEventStreamIsNoError(_ wire: Wire) async throws {
    let events = [LoopbackServer.Response.Step.chunk(Data("data: a\n\n".utf8)), .close]
    server.route("/events", .streaming(headers: ["Content-Type": "text/event-stream"], events), .status(204))
    let manager = listening(wire.manager(server, clock: RecordingClock()))
    for try await _ in manager.events(Probe<EmptyResponse>(path: "/events", queryParameters: ["key": "secret"])) {}
    let place = "status=200 url=http://127.0.0.1:\(server.port)/events?key=<redacted>"
    let lost = entries.withLock { $0.filter { $0.message == "Event stream lost" } }
    #expect(lost.map(\.level) == [.info])
    #expect(lost.first?.line.hasSuffix(place) == true, "\(lines)")
    #expect(!entries.withLock { $0.contains { $0.level == .error } })

    // That of a request which is not sent again is one.
    server.route("/once", .streaming(headers: ["Content-Type": "text/event-stream"], events))
    let response = try await manager.stream(Probe<EmptyResponse>(path: "/once"))
    await #expect(throws: URLError.self) { for try await _ in response.events() {} }
    #expect(entries.withLock { $0.last?.level } == .error)
    #expect(lines.last?.contains("status=200 url=http") == true)
  }

  @Test(arguments: Wire.allCases) func userAndPasswordOfAURLAreNotLogged(_ wire: Wire) async throws {
    server.route("/item") { _ in .json(Item(id: 1)) }
    let url = try #require(URL(string: "http://alice:secret@127.0.0.1:\(server.port)"))
    let manager = listening(wire.manager(url))
    _ = try await manager.send(ItemProbe())
    await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe(path: "/refused")) }
    #expect(lines.contains { $0.contains("url=http://127.0.0.1:\(server.port)/refused") })
    #expect(!lines.contains { $0.contains("alice") || $0.contains("secret") })
  }
}
