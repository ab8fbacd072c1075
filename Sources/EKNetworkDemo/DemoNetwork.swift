import Foundation
import LoopbackServer

/// A network that goes away and comes back, with a server behind it.
protocol DemoNetwork {
  var server: LoopbackServer { get }
  /// What going away means here.
  var description: String { get }
  mutating func goAway() throws
  mutating func comeBack() throws
}

/// Where no network can be had for the purpose: the server itself goes away, and another comes to its place.
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
  /// A network namespace of the demo's own, whose links are brought down and up.
  struct OwnNamespace: DemoNetwork {
    let server: LoopbackServer
    let description = "in a network namespace of its own, `ip link set … down` and `up`"

    /// `nil` where links cannot be made.
    init?() throws {
      guard Self.run("ip", "link", "set", "lo", "up"),
        // Two ends of a cable: one is the machine's way out.
        Self.run("ip", "link", "add", "net0", "type", "veth", "peer", "name", "net1"),
        Self.run("ip", "address", "add", "192.0.2.1/24", "dev", "net0"),
        Self.run("ip", "link", "set", "net1", "up")
      else { return nil }
      server = try LoopbackServer()
      try comeBack()
    }

    func goAway() throws {
      // The server is reached over the loopback; the monitor looks at the others.
      for link in ["lo", "net0"] { try ip("link", "set", link, "down") }
    }

    func comeBack() throws {
      for link in ["lo", "net0"] { try ip("link", "set", link, "up") }
      try ip("route", "replace", "default", "via", "192.0.2.2")
    }

    /// Runs this program in a namespace of its own. Its exit code; `nil` where that is not allowed.
    static func rerun(_ arguments: [String]) -> Int32? {
      guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
        return nil
      }
      // The first is for the superuser, the other for users that may make namespaces.
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

    /// Not Foundation's `Process`: it wants a loopback that is up.
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
      // WEXITSTATUS, of a process that was not killed.
      return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }
  }
#endif
