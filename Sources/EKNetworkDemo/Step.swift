import EKNetwork
import LoopbackServer

/// One stop of the tour.
struct Step: Sendable {
  let title: String
  /// What a user would write; what runs below it is the same with the server's names filled in.
  let code: String
  /// Runs the step; throws what is not as it should be.
  let run: @Sendable (Stage) async throws -> String
}

/// What a step works with.
struct Stage: Sendable {
  let server: LoopbackServer
  let terminal: Terminal
  /// For the files of the step; removed after it.
  let folder: URL

  /// A manager for the loopback server, on a session of its own.
  func manager() -> NetworkManager {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 32
    return NetworkManager(baseURL: server.baseURL, session: URLSession(configuration: configuration))
  }

  /// Shows requests as they crossed the wire, their bodies cut short.
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

/// What a step found wrong.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

/// Throws unless the step went as it should.
func expect(_ condition: Bool, _ what: String) throws {
  if !condition { throw Unexpected(description: what) }
}
