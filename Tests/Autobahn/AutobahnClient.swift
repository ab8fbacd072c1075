import EKNetwork

/// Echoes the messages of the conformance server, case by case: `AutobahnClient ws://127.0.0.1:PORT AGENT`.
@main
enum AutobahnClient {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let count = Int(try await ask(arguments[1] + "/getCaseCount")) else {
      print("usage: AutobahnClient URL AGENT")
      exit(64)
    }
    for number in 1...max(1, count) {
      await run(arguments[1] + "/runCase?case=\(number)&agent=\(arguments[2])")
    }
    _ = try? await ask(arguments[1] + "/updateReports?agent=\(arguments[2])")
    print("\(count) cases were run")
  }

  private static func url(_ text: String) throws -> URL {
    guard let url = URL(string: text) else { throw WebSocketError.invalidURL }
    return url
  }

  private static func ask(_ text: String) async throws -> String {
    let socket = try await WebSocket.connect(to: url(text))
    guard case .text(let answer)? = try await socket.receive() else { return "" }
    return answer
  }

  /// Runs a case. Errors are ignored, because many cases provoke them.
  private static func run(_ text: String) async {
    do {
      let socket = try await WebSocket.connect(to: url(text))
      for try await message in socket { try await socket.send(message) }
      try await socket.close()
    } catch {}
  }
}
