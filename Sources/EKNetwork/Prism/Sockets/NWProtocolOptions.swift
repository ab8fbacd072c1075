#if os(Linux)
  /// The options of a protocol in a connection's stack.
  public class NWProtocolOptions {
    let name: String

    init(name: String) { self.name = name }
  }
#endif
