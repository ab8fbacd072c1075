import EKNetwork

struct WebSocketContender: SocketContender {
  private let socket: WebSocket

  init(url: URL, authorities: URL?) async throws {
    var options = WebSocketOptions()
    options.compression = nil
    options.tls = authorities.map { TLSOptions(certificateAuthorityFile: $0) }
    socket = try await WebSocket.connect(to: url, options: options)
  }

  func echo(_ text: String, while counts: @Sendable (Int) -> Bool) async throws {
    repeat {
      try await socket.send(text)
      guard try await socket.receive() == .text(text) else { throw URLError(.cannotParseResponse) }
    } while counts(1)
  }

  func receive(while counts: @Sendable (Int) -> Bool) async throws {
    while case .binary(let data)? = try await socket.receive() {
      guard counts(data.count) else { return }
    }
    throw URLError(.networkConnectionLost)
  }
}
