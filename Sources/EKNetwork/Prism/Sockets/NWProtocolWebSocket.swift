#if os(Linux)
  /// WebSocket in a connection's stack.
  public enum NWProtocolWebSocket {
    /// A version of the protocol.
    public enum Version: Sendable, Hashable {
      /// RFC 6455.
      case v13
    }

    /// WebSocket in its only version.
    public final class Options: NWProtocolOptions {
      /// Options for a version.
      public init(_ version: Version = .v13) { super.init(name: "websocket") }
    }
  }
#endif
