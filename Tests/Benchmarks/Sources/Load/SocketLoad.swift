import Foundation

/// Round trips, or messages received as fast as they arrive, on `width` connections to `socket_server.py`.
struct SocketLoad {
  var contender: String
  var url: URL
  var authorities: URL?

  /// Runs a scenario: `echo`, counted in round trips of 32 bytes, or `receive`, counted in bytes.
  func run(_ scenario: String, width: Int, seconds: Double) async throws -> Measurement {
    var opened: [any SocketContender] = []
    for _ in 0..<width { opened.append(try await connect()) }
    let text = String(repeating: "t", count: 32)
    return try await SteadyLoad().measure(width: width, seconds: seconds) { [opened] task, counts in
      switch scenario {
      case "echo": try await opened[task].echo(text, while: counts)
      default: try await opened[task].receive(while: counts)
      }
    }
  }

  private func connect() async throws -> any SocketContender {
    switch contender {
    case "nio": try await NIOContender(url: url, authorities: authorities)
    case "nio-websocket": try await NIOWebSocketContender(url: url, authorities: authorities)
    default: try await WebSocketContender(url: url, authorities: authorities)
    }
  }
}

/// A connection of a client under test.
protocol SocketContender: Sendable {
  /// Sends a text and waits for it to come back, until `counts`, which gets 1 for each round trip, returns `false`.
  func echo(_ text: String, while counts: @Sendable (Int) -> Bool) async throws

  /// Receives until `counts`, which gets the number of bytes, returns `false`.
  func receive(while counts: @Sendable (Int) -> Bool) async throws
}
