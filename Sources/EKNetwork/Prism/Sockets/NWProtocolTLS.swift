#if os(Linux)
  /// TLS in a connection's stack.
  public enum NWProtocolTLS {
    /// TLS as the system has it: the peer is verified.
    public final class Options: NWProtocolOptions {
      /// The defaults.
      public init() { super.init(name: "tls") }
    }
  }
#endif
