#if os(Linux)
  /// The options of a protocol in a connection's stack.
  public class NWProtocolOptions {
    init() {}
  }
#endif
