#if os(Linux) || os(macOS)
  import Foundation

  /// A third-party server: a Python script of Tests/Peers, which is terminated with this value.
  final class PeerProcess: Sendable {
    /// The interpreter that has the scripts' packages. Without it the suites are skipped.
    static let python = ProcessInfo.processInfo.environment["EKNETWORK_PEERS_PYTHON"]

    /// Whether it has these packages, which not every distribution has.
    static func has(_ modules: String...) -> Bool {
      guard let python else { return false }
      return (try? ChildProcess(python, ["-c", "import " + modules.joined(separator: ",")], hidesErrors: true).run())
        != nil
    }

    struct Failure: Error { var text: String }

    private let process: ChildProcess
    private let peer: Peer

    private struct Peer: Decodable {
      var ports: [String: Int]
      var folder: String
    }

    init(_ script: String, _ arguments: String...) throws {
      guard let python = Self.python else { throw Failure(text: "EKNETWORK_PEERS_PYTHON is not set") }
      let tests = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      process = try ChildProcess(
        python, ["-B", tests.appendingPathComponent("Peers/\(script)").path] + arguments)
      peer = try JSONDecoder().decode(Peer.self, from: try process.readLine())
    }

    /// Writes a line to the script's standard input.
    func tell(_ line: String) throws { try process.write(Data((line + "\n").utf8)) }

    /// Writes a line, and returns the line that the script replies with.
    func ask(_ line: String) throws -> String {
      try tell(line)
      return String(decoding: try process.readLine(), as: UTF8.self)
    }

    /// A file that the script has created.
    func file(_ name: String) -> URL { URL(fileURLWithPath: peer.folder).appendingPathComponent(name) }

    func url(_ name: String, scheme: String = "https", path: String = "/") throws -> URL {
      guard let port = peer.ports[name], let url = URL(string: "\(scheme)://127.0.0.1:\(port)\(path)") else {
        throw Failure(text: "no server \(name)")
      }
      return url
    }
  }
#endif
