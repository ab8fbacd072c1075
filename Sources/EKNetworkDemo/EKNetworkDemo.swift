import EKNetwork
import LoopbackServer

/// `swift run EKNetworkDemo`: a tour of the library over real sockets, against a server in the same process.
@main
enum EKNetworkDemo {
  private static let usage = """
    usage: EKNetworkDemo [--offline | --url URL | --about]
      Without arguments: the tour. Exit code 0 when every step went as it should, else 1.
      --offline  a network that goes away and comes back, and a queue that delivers; in a network namespace where the
                 machine allows it (as the superuser, or with user namespaces)
      --url URL  one GET to a server of your own, through the same library
      --about    what carries the requests on this machine, and what is done about its defects
    """

  static func main() async {
    var arguments = CommandLine.arguments.dropFirst()
    let terminal = Terminal()
    // A proxy that the environment names is for the server of `--url`, and cannot reach those of the steps.
    if arguments.first != "--url" { setenv("no_proxy", "*", 1) }
    switch arguments.popFirst() {
    case nil: exit(await tour(terminal) ? 0 : 1)
    case "--help", "-h": terminal.line(usage)
    case "--about": terminal.line("\(TransportDescription.current)")
    case "--offline": exit(await offline(terminal, isInside: arguments.first == "--inside") ? 0 : 1)
    case "--url":
      guard let text = arguments.popFirst(), arguments.isEmpty, let url = URL(string: text), url.host != nil else {
        terminal.line(usage)
        exit(64)
      }
      exit(await RealServer.get(url, terminal) ? 0 : 1)
    default:
      terminal.line(usage)
      exit(64)
    }
  }

  /// - Parameter isInside: Whether this is the process in its own network namespace.
  private static func offline(_ terminal: Terminal, isInside: Bool) async -> Bool {
    #if os(Linux)
      if !isInside, let code = OwnNamespace.rerun(["--offline", "--inside"]) { return code == 0 }
      let step = Step.offline {
        if isInside, let network = try OwnNamespace() { return network }
        return try StoppedServer()
      }
    #else
      let step = Step.offline { try StoppedServer() }
    #endif
    return await show([step], terminal)
  }

  private struct Outcome {
    let title: String
    let isSuccess: Bool
    let note: String
    let duration: Duration
  }

  private static func tour(_ terminal: Terminal) async -> Bool {
    terminal.line(terminal.styled("EKNetwork, over real sockets on this machine", .bold))
    return await show(steps, terminal)
  }

  private static func show(_ steps: [Step], _ terminal: Terminal) async -> Bool {
    var outcomes: [Outcome] = []
    for (index, step) in steps.enumerated() {
      terminal.line()
      terminal.line(terminal.styled("\(index + 1). \(step.title)", .bold))
      for line in step.code.split(separator: "\n", omittingEmptySubsequences: false) {
        terminal.line("    " + terminal.styled(String(line), .yellow))
      }
      outcomes.append(await run(step, terminal))
    }
    terminal.line()
    terminal.line(terminal.styled("Summary", .bold))
    for outcome in outcomes {
      let mark = outcome.isSuccess ? terminal.styled("ok  ", .green) : terminal.styled("FAIL", .red)
      let title = outcome.title.padding(toLength: 58, withPad: " ", startingAt: 0)
      terminal.line("  \(mark) \(title) \(milliseconds(outcome.duration))")
      if !outcome.isSuccess { terminal.line("       \(outcome.note)") }
    }
    let failures = outcomes.filter { !$0.isSuccess }.count
    terminal.line()
    terminal.line(
      failures == 0
        ? terminal.styled("All \(outcomes.count) steps went as they should.", .green)
        : terminal.styled("\(failures) of \(outcomes.count) steps did not.", .red))
    return failures == 0
  }

  private static func run(_ step: Step, _ terminal: Terminal) async -> Outcome {
    let start = ContinuousClock.now
    do {
      let server = try LoopbackServer()
      defer { server.stop() }
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetworkDemo-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let note = try await step.run(Stage(server: server, terminal: terminal, folder: folder))
      terminal.line(terminal.styled("  ✓ ", .green) + note)
      return Outcome(title: step.title, isSuccess: true, note: note, duration: .now - start)
    } catch {
      terminal.line(terminal.styled("  ✗ \(error)", .red))
      return Outcome(title: step.title, isSuccess: false, note: "\(error)", duration: .now - start)
    }
  }

  private static func milliseconds(_ duration: Duration) -> String {
    let text = "\(Int(duration / .milliseconds(1))) ms"
    return String(repeating: " ", count: max(0, 8 - text.count)) + text
  }

  private static let steps: [Step] =
    [
      .typedGet, .post, .tokenRefresh, .retry, .upload, .download, .redirect, .serverError, .cancellation, .cache,
      .feed,
      .subscription, .chat,
    ] + linuxOnly

  // On Apple's platforms no request reaches a socket, and the system decides when a body is sent.
  #if os(Linux)
    private static let linuxOnly: [Step] = [.conversation, .socket]
  #else
    private static let linuxOnly: [Step] = []
  #endif
}
