/// The parameters of message compression (permessage-deflate, RFC 7692) that a client offers.
public struct WebSocketCompression: Sendable, Equatable {
  /// Whether the client may keep its compression context between messages. `false` needs less memory.
  public var clientContextTakeover: Bool
  /// Whether the server may keep its compression context between messages.
  public var serverContextTakeover: Bool
  /// The base-2 logarithm of the client's compression window; the server may request a smaller one. Other numbers
  /// than 9 to 15 become the nearest of them.
  public var clientMaxWindowBits: Int { didSet { clientMaxWindowBits = min(max(clientMaxWindowBits, 9), 15) } }
  /// The base-2 logarithm of the server's compression window; 15 leaves the choice to the server. Other numbers than
  /// 8 to 15 become the nearest of them.
  public var serverMaxWindowBits: Int { didSet { serverMaxWindowBits = min(max(serverMaxWindowBits, 8), 15) } }
  /// The size in bytes from which messages are compressed; shorter ones are sent uncompressed.
  public var minimumSize: Int

  /// Creates an offer. By default, both contexts are kept, the windows are as large as possible and every message is
  /// compressed.
  public init(
    clientContextTakeover: Bool = true, serverContextTakeover: Bool = true, clientMaxWindowBits: Int = 15,
    serverMaxWindowBits: Int = 15, minimumSize: Int = 0
  ) {
    self.clientContextTakeover = clientContextTakeover
    self.serverContextTakeover = serverContextTakeover
    self.clientMaxWindowBits = min(max(clientMaxWindowBits, 9), 15)
    self.serverMaxWindowBits = min(max(serverMaxWindowBits, 8), 15)
    self.minimumSize = minimumSize
  }
}
