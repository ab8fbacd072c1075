import EKNetwork
import LoopbackServer

extension Step {
  static let chat = Step(
    title: "A chat that survives a tunnel",
    code: """
      // The PrismNetwork page's, on PrismNetworkSocketAdapter.
      let alice = ChatClient()
      try await alice.connect(to: .production)
      try await alice.send(text: "Hello, Bob", to: "general")

      let bob = ReconnectingWebSocket(to: url)
      for await event in bob.events {
        if case .connected = event { try await bob.send(join) }
      }
      """
  ) { stage in
    let room = ChatRoom()
    stage.server.route("/chat") { .webSocket($0) { room.serve($0) } }
    guard let port = UInt16(exactly: stage.server.port), let url = URL(string: "ws://127.0.0.1:\(port)/chat") else {
      throw WebSocketError.invalidURL
    }

    let (heard, handler) = AsyncStream.makeStream(of: ChatMessage.self)
    let alice = ChatClient()
    await alice.onMessage { handler.yield($0) }
    try await alice.connect(to: ChatSocketEndpoint(number: port))
    try await alice.join(room: "general", user: "alice")
    var toAlice = heard.makeAsyncIterator()

    let bob = ReconnectingWebSocket(to: url, reconnect: WebSocketReconnectPolicy(initialDelay: .milliseconds(100)))
    let events = Task { try await join(bob, stage) }
    try check(await toAlice.next(), "alice", nil)
    try check(await toAlice.next(), "bob", nil)
    try await alice.send(text: "Hello, Bob", to: "general")
    try check(await toAlice.next(), "alice", "Hello, Bob")

    try check(await next(bob), "bob", nil)
    try check(await next(bob), "alice", "Hello, Bob")
    try await bob.send(ChatCommand.message(room: "general", text: "Hi. There is a tunnel ahead").message)
    try check(await toAlice.next(), "bob", "Hi. There is a tunnel ahead")
    // Bob may still be disconnected, or back: he receives the message in either case.
    try await alice.send(text: "Are you there?", to: "general")
    var message = try await next(bob)
    while message.text != "Are you there?" { message = try await next(bob) }
    try await bob.send(ChatCommand.message(room: "general", text: "Back again").message)
    var answer = await toAlice.next()
    while let heard = answer, heard.text != "Back again" { answer = await toAlice.next() }
    try expect(answer?.user == "bob", "Alice did not hear that Bob is back")

    try await bob.close(reason: "good night")
    await alice.disconnect()
    let told = try await events.value
    try expect(told.connections == 2 && told.losses == 1, "\(told)")
    return "two clients talked; one lost its connection, came back, and missed nothing"
  }

  /// Joins the room at every connection, and counts connections and losses.
  private static func join(
    _ socket: ReconnectingWebSocket, _ stage: Stage
  ) async throws -> (connections: Int, losses: Int) {
    var (connections, losses) = (0, 0)
    for await event in socket.events {
      switch event {
      case .connected:
        connections += 1
        stage.note(connections == 1 ? "bob: connected" : "bob: connected again")
        try await socket.send(ChatCommand.join(room: "general", user: "bob").message)
      case .lost(let error):
        losses += 1
        stage.note("bob: lost (\(error.localizedDescription))")
      case .retrying(let delay): stage.note("bob: trying again in \(Int(delay / .milliseconds(1))) ms")
      case .ended: stage.note("bob: left")
      }
    }
    return (connections, losses)
  }

  private static func next(_ socket: ReconnectingWebSocket) async throws -> ChatMessage {
    guard case .text(let text)? = try await socket.receive() else { throw Unexpected(description: "the chat is over") }
    return try JSONDecoder().decode(ChatMessage.self, from: Data(text.utf8))
  }

  private static func check(_ message: ChatMessage?, _ user: String, _ text: String?) throws {
    guard let message else { throw Unexpected(description: "the chat is over") }
    try expect(message.user == user && message.text == text, "\(message) in place of \(text ?? "a greeting")")
  }
}
