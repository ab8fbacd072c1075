import Foundation
import LoopbackServer

/// A network that can be taken down and brought back, with a server behind it.
protocol DemoNetwork {
  var server: LoopbackServer { get }
  /// A description of how the network is taken down.
  var description: String { get }
  mutating func goAway() throws
  mutating func comeBack() throws
}

/// A substitute where no separate network can be created: the server itself is stopped, and another one takes its port.
struct StoppedServer: DemoNetwork {
  private(set) var server: LoopbackServer
  let description = "the server is stopped, and another one takes its port"

  init() throws { server = try LoopbackServer() }

  mutating func goAway() { server.stop() }

  mutating func comeBack() throws {
    let port = server.port
    server = try LoopbackServer { $0.port = port }
  }
}

#if os(Linux)
  /// A network namespace of the demo's own, whose links are taken down and brought up.
  struct OwnNamespace: DemoNetwork {
    let server: LoopbackServer
    let description = "in a network namespace of its own, `ip link set … down` and `up`"

    /// Creates the links and the server; `nil` where links cannot be created.
    init?() throws {
      guard Self.run("ip", "link", "set", "lo", "up"),
        // A pair of virtual interfaces: one is the machine's uplink.
        Self.run("ip", "link", "add", "net0", "type", "veth", "peer", "name", "net1"),
        Self.run("ip", "address", "add", "192.0.2.1/24", "dev", "net0"),
        Self.run("ip", "link", "set", "net1", "up")
      else { return nil }
      server = try LoopbackServer()
      try comeBack()
    }

    func goAway() throws {
      // The server is reached over the loopback; the monitor watches the other links.
      for link in ["lo", "net0"] { try ip("link", "set", link, "down") }
    }

    func comeBack() throws {
      for link in ["lo", "net0"] { try ip("link", "set", link, "up") }
      try ip("route", "replace", "default", "via", "192.0.2.2")
    }

    /// Runs this program in a namespace of its own. Returns its exit code; `nil` where that is not permitted.
    static func rerun(_ arguments: [String]) -> Int32? {
      guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
        return nil
      }
      // The first works for the superuser, the second for users who may create namespaces.
      for way in [["--net"], ["--map-root-user", "--net"]] where run("unshare", way + ["true"]) {
        return status("unshare", way + [program] + arguments, isHeard: true)
      }
      return nil
    }

    private func ip(_ arguments: String...) throws {
      try expect(Self.run("ip", arguments), "ip \(arguments.joined(separator: " ")) failed")
    }

    private static func run(_ program: String, _ arguments: String...) -> Bool { run(program, arguments) }

    private static func run(_ program: String, _ arguments: [String]) -> Bool { status(program, arguments) == 0 }

    /// Runs a program. Foundation's `Process` is not used because it needs a loopback that is up.
    private static func status(_ program: String, _ arguments: [String], isHeard: Bool = false) -> Int32? {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      if !isHeard {
        for descriptor: Int32 in [1, 2] {
          posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        }
      }
      var argv = ([program] + arguments).map { strdup($0) } + [nil]
      defer { for string in argv { free(string) } }
      var identifier = pid_t()
      guard posix_spawnp(&identifier, program, &actions, nil, &argv, environ) == 0 else { return nil }
      var status: Int32 = 0
      while waitpid(identifier, &status, 0) < 0 { guard errno == EINTR else { return nil } }
      // WEXITSTATUS of a process that was not killed.
      return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }
  }
#endif
