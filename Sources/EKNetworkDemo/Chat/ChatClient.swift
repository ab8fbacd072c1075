import EKNetwork

/// The example client of PrismNetwork's socket documentation, for a server on this machine.
actor ChatClient {
  private let socket = PrismNetworkSocketAdapter()
  private var messageHandler: ((ChatMessage) -> Void)?

  func connect(to endpoint: ChatSocketEndpoint) async throws {
    let stream = try await socket.connect(to: endpoint)
    Task {
      for await data in stream {
        if let message = try? JSONDecoder().decode(ChatMessage.self, from: data) {
          messageHandler?(message)
        }
      }
    }
  }

  func onMessage(_ handler: @escaping (ChatMessage) -> Void) { messageHandler = handler }

  func join(room: String, user: String) async throws {
    try await socket.send(command: ChatCommand.join(room: room, user: user))
  }

  func send(text: String, to room: String) async throws {
    try await socket.send(command: ChatCommand.message(room: room, text: text))
  }

  func disconnect() async { await socket.disconnect() }
}
