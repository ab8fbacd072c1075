import Foundation
import NIOCore
import NIOHTTP1
import NIOWebSocket

struct NIOWebSocketContender: SocketContender {
  private let channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

  init(url: URL, authorities: URL?) async throws {
    let upgraded = try await NIOContender.connect(to: url, authorities: authorities) { channel in
      let upgrader = NIOTypedWebSocketClientUpgrader(maxFrameSize: 1 << 24) { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<WebSocketFrame, WebSocketFrame>(wrappingChannelSynchronously: channel)
        }
      }
      let upgrade = NIOTypedHTTPClientUpgradeConfiguration(
        upgradeRequestHead: HTTPRequestHead(
          version: .http1_1, method: .GET, uri: url.path, headers: ["Host": url.host ?? ""]),
        upgraders: [upgrader]
      ) { $0.eventLoop.makeFailedFuture(URLError(.badServerResponse)) }
      var configuration = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: upgrade)
      // The first frames can arrive with the response.
      configuration.leftOverBytesStrategy = .forwardBytes
      return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: configuration)
    }
    channel = try await upgraded.get()
  }

  func echo(_ text: String, while counts: @Sendable (Int) -> Bool) async throws {
    try await channel.executeThenClose { inbound, outbound in
      var incoming = inbound.makeAsyncIterator()
      repeat {
        let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(string: text))
        try await outbound.write(frame)
        guard let echo = try await incoming.next(), echo.opcode == .text, String(buffer: echo.data) == text else {
          throw URLError(.cannotParseResponse)
        }
      } while counts(1)
    }
  }

  func receive(while counts: @Sendable (Int) -> Bool) async throws {
    try await channel.executeThenClose { inbound, _ in
      for try await frame in inbound where frame.opcode == .binary {
        guard counts(frame.data.readableBytes) else { return }
      }
      throw URLError(.networkConnectionLost)
    }
  }
}
