#if os(Linux) || os(macOS)
  import Foundation

  @testable import EKNetwork

  /// A third-party server as one test sees it: a Python script of Tests/Peers, in a process of its own, or in one that
  /// the tests of a suite share.
  final class PeerProcess: Sendable {
    /// The interpreter that has the scripts' packages. Without it the suites are skipped.
    static let python = ProcessInfo.processInfo.environment["EKNETWORK_PEERS_PYTHON"]

    private static let found = Locked<[[String]: Bool]>([:])

    /// Whether it has these packages, which not every distribution has. A suite asks before each of its tests.
    static func has(_ modules: String...) -> Bool {
      guard let python else { return false }
      let program = "import " + modules.joined(separator: ",")
      return found.withLock { found in
        let isThere =
          found[modules] ?? ((try? ChildProcess(python, ["-c", program], hidesErrors: true).run()) != nil)
        found[modules] = isThere
        return isThere
      }
    }

    struct Failure: Error { var text: String }

    /// A name for this value, by which a script that is shared keeps the requests of tests apart.
    let test = UUID().uuidString
    /// A copy of the script's `ca.pem`. Sessions that trust the same file share connections, also those without TLS, and
    /// tests must not.
    let authority: URL
    private let script: Script

    /// Starts a script that ends with this value.
    convenience init(_ script: String, _ arguments: String...) throws {
      try self.init(Script(script, arguments))
    }

    private init(_ script: Script) throws {
      self.script = script
      authority = script.file("\(test).pem")
      let original = script.file("ca.pem")
      if FileManager.default.fileExists(atPath: original.path) {
        try FileManager.default.copyItem(at: original, to: authority)
      }
    }

    private static let shared = Locked<[[String]: Locked<Script?>]>([:])

    /// Starts a script for the first test of a file, and shares it with the others. It ends when its standard input is
    /// closed, as it is when the process of the tests ends, however that happens. If it does not start, each test fails
    /// that tries.
    static func shared(_ script: String, _ arguments: String..., file: String = #fileID) throws -> PeerProcess {
      let place = shared.withLock { shared in
        let key = [file, script] + arguments
        let place = shared[key] ?? Locked(nil)
        shared[key] = place
        return place
      }
      // Only those wait that need the same script.
      return try PeerProcess(
        place.withLock { started in
          let script = try started ?? Script(script, arguments)
          started = script
          return script
        })
    }

    /// Writes a line to the script's standard input.
    func tell(_ line: String) throws { try script.process.write(Data((line + "\n").utf8)) }

    /// Writes a line, and returns the line that the script replies with.
    func ask(_ line: String) throws -> String {
      try tell(line)
      return String(decoding: try script.process.readLine(), as: UTF8.self)
    }

    /// A file that the script has created.
    func file(_ name: String) -> URL { script.file(name) }

    func url(_ name: String, scheme: String = "https", path: String = "/") throws -> URL {
      guard let port = script.peer.ports[name], let url = URL(string: "\(scheme)://127.0.0.1:\(port)\(path)") else {
        throw Failure(text: "no server \(name)")
      }
      return url
    }

    private final class Script: Sendable {
      struct Peer: Decodable {
        var ports: [String: Int]
        var folder: String
      }

      let process: ChildProcess
      let peer: Peer

      init(_ name: String, _ arguments: [String]) throws {
        guard let python = PeerProcess.python else { throw Failure(text: "EKNETWORK_PEERS_PYTHON is not set") }
        let tests = URL(fileURLWithPath: #filePath)
          .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        process = try ChildProcess(python, ["-B", tests.appendingPathComponent("Peers/\(name)").path] + arguments)
        do {
          peer = try JSONDecoder().decode(Peer.self, from: try process.readLine())
        } catch {
          throw Failure(text: "\(name) has not started: \(error)")
        }
      }

      func file(_ name: String) -> URL { URL(fileURLWithPath: peer.folder).appendingPathComponent(name) }
    }
  }
#endif
