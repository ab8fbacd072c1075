import EKNetwork
import LoopbackServer

/// One step of the tour.
struct Step: Sendable {
  let title: String
  /// The code that a user would write; the step runs the same with the server's names filled in.
  let code: String
  /// Runs the step; throws if the result is not as expected.
  let run: @Sendable (Stage) async throws -> String
}

/// The environment of a step.
struct Stage: Sendable {
  let server: LoopbackServer
  let terminal: Terminal
  /// A folder for the files of the step, removed afterwards.
  let folder: URL

  /// Returns a manager for the loopback server, with a session of its own.
  func manager() -> NetworkManager {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 32
    return NetworkManager(baseURL: server.baseURL, session: URLSession(configuration: configuration))
  }

  /// Prints requests as they were sent, with shortened bodies.
  func showWire(_ requests: [LoopbackServer.Request], limit: Int = 2) {
    for request in requests.prefix(limit) {
      var lines = String(decoding: request.head, as: UTF8.self).split(separator: "\r\n").map(String.init)
      lines = lines.filter { !$0.lowercased().hasPrefix("user-agent:") }
      if !request.body.isEmpty { lines.append(Self.excerpt(of: request.body)) }
      for line in lines { terminal.line(terminal.styled("  → ", .cyan) + terminal.styled(Self.cut(line), .dim)) }
    }
    if requests.count > limit {
      terminal.line(terminal.styled("  → … and \(requests.count - limit) more requests", .dim))
    }
  }

  func note(_ text: String) { terminal.line("  " + text) }

  private static func excerpt(of body: Data) -> String {
    let text = String(decoding: body.prefix(60), as: UTF8.self)
    let isText = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0xFFFD }
    return isText && body.count <= 60 ? text : "(\(body.count) bytes)"
  }

  private static func cut(_ line: String) -> String { line.count > 74 ? line.prefix(73) + "…" : line }
}

/// The error of a step with an unexpected result.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

/// Throws ``Unexpected`` unless the condition holds.
func expect(_ condition: Bool, _ what: String) throws {
  if !condition { throw Unexpected(description: what) }
}
