/// What a client offers for the compression of messages, permessage-deflate (RFC 7692).
public struct WebSocketCompression: Sendable, Equatable {
  /// Whether this side may refer to earlier messages when it compresses. Without it, less memory is needed.
  public var clientContextTakeover: Bool
  /// Whether the server may.
  public var serverContextTakeover: Bool
  /// The base-2 logarithm of the window that this side compresses with, 9 to 15; the server may ask for less.
  public var clientMaxWindowBits: Int
  /// The same for the server, 8 to 15; 15 leaves the choice to it.
  public var serverMaxWindowBits: Int
  /// Messages shorter than that many bytes are sent as they are.
  public var minimumSize: Int

  /// An offer. Defaults to contexts and windows as large as possible, and to compressing every message.
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
