// Runs blocks of the documentation against the loopback server.
import EKNetwork
import LoopbackServer

enum Harness {
  static let server: LoopbackServer = {
    do {
      let server = try LoopbackServer()
      server.route("/users/*") { _ in .json(#"{"id":42,"name":"Alice"}"#) }
      server.route("POST", "/sign-in") { _ in .json(#"{"id":42,"name":"Alice"}"#) }
      server.route("/api/v1/players/search") { _ in
        .chunked([Data("{\"player\":{\"_0\":{\"id\":1,\"name\":\"Bobr\"}}}\n".utf8), Data("{\"end\":{}}\n".utf8)])
      }
      server.route("/events") { _ in
        .data(Data("data: hello\n\n".utf8)).header("Content-Type", "text/event-stream")
      }
      return server
    } catch {
      fatalError("no loopback server: \(error)")
    }
  }()

  private static let failures = Failures()

  /// Runs a block, which must succeed and send a request to the server.
  static func run(_ place: String, _ block: () async throws -> Void) async {
    let before = server.requestCount
    do {
      try await block()
      if server.requestCount == before { await failures.add("\(place): the server was not asked for anything") }
    } catch {
      await failures.add("\(place): \(error)")
    }
  }

  static func finish() {
    server.stop()
    exit(failures.isEmpty ? 0 : 1)
  }
}

// Sendable, unchecked: the blocks run one after the other.
private final class Failures: @unchecked Sendable {
  private(set) var isEmpty = true

  func add(_ text: String) async {
    isEmpty = false
    FileHandle.standardError.write(Data((text + "\n").utf8))
  }
}
