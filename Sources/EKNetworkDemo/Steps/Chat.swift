import EKNetwork
import LoopbackServer

extension Step {
  static let chat = Step(
    title: "A WebSocket that loses its server",
    code: """
      let socket = try await WebSocket.connect(to: url)
      try await socket.send("Hello")
      for try await message in socket { show(message) }
      """
  ) { stage in
    // The first connection is cut after one message; the second is an echo until it is closed.
    let server = stage.server
    server.route("/chat") { request in
      guard server.requests(path: "/chat").count == 1 else { return .webSocketEcho(request) }
      return .webSocket(request) { peer in
        if let message = peer.readMessage() { peer.send(opcode: 1, message) }
        peer.bytes.reset()
      }
    }
    guard let url = URL(string: "ws://127.0.0.1:\(server.port)/chat") else { throw WebSocketError.invalidURL }
    var received: [WebSocketMessage] = []
    var losses = 0
    for greeting in ["Hello", "Hello again"] {
      let socket = try await WebSocket.connect(to: url)
      try await socket.send(greeting)
      if let message = try await socket.receive() { received.append(message) }
      do {
        if losses == 0 { _ = try await socket.receive() }
      } catch {
        losses += 1
        stage.note("lost: \(error.localizedDescription)")
        continue
      }
      try await socket.close(reason: "good night")
    }
    try expect(received == [.text("Hello"), .text("Hello again")], "received \(received)")
    try expect(losses == 1, "\(losses) losses")
    return "two messages echoed, one connection lost and opened anew"
  }
}
