import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Exchanges the bytes of the messages without frames.
struct NIOContender: SocketContender {
  private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

  init(url: URL, authorities: URL?) async throws {
    channel = try await Self.connect(to: url, authorities: authorities) {
      try NIOAsyncChannel(wrappingChannelSynchronously: $0)
    }
    try await channel.channel.writeAndFlush(ByteBuffer(string: "BARE \(url.path)\r\n\r\n"))
  }

  /// Connects, over TLS if there are authorities.
  static func connect<Connection: Sendable>(
    to url: URL, authorities: URL?, initialize: @escaping @Sendable (any Channel) throws -> Connection
  ) async throws -> Connection {
    var tls: NIOSSLContext?
    if let authorities {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.trustRoots = .file(authorities.path)
      // The server does not read while it sends, so it would not respond to the end of the connection.
      configuration.shutdownTimeout = .milliseconds(1)
      tls = try NIOSSLContext(configuration: configuration)
    }
    return try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connect(host: url.host ?? "", port: url.port ?? 0) { [tls] channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls {
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: nil))
          }
          return try initialize(channel)
        }
      }
  }

  func echo(_ text: String, while counts: @Sendable (Int) -> Bool) async throws {
    try await channel.executeThenClose { inbound, outbound in
      var incoming = inbound.makeAsyncIterator()
      repeat {
        try await outbound.write(ByteBuffer(string: text))
        var count = 0
        while count < text.utf8.count {
          guard let bytes = try await incoming.next() else { throw URLError(.networkConnectionLost) }
          count += bytes.readableBytes
        }
      } while counts(1)
    }
  }

  func receive(while counts: @Sendable (Int) -> Bool) async throws {
    try await channel.executeThenClose { inbound, _ in
      for try await bytes in inbound {
        guard counts(bytes.readableBytes) else { return }
      }
      throw URLError(.networkConnectionLost)
    }
  }
}
