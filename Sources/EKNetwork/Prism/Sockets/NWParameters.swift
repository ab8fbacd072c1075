#if os(Linux)
  /// How a connection is made: what of Apple's class a socket endpoint needs.
  public class NWParameters {
    /// The protocols above TCP.
    public class ProtocolStack {
      /// From the top down: WebSocket before TLS.
      public var applicationProtocols: [NWProtocolOptions] = []

      init() {}
    }

    /// The protocols of the connection.
    public let defaultProtocolStack = ProtocolStack()

    /// TCP, with TLS when there are options for it.
    public init(tls: NWProtocolTLS.Options?) {
      if let tls { defaultProtocolStack.applicationProtocols.append(tls) }
    }

    /// TCP alone; new at each call.
    public static var tcp: NWParameters { NWParameters(tls: nil) }
    /// TLS over TCP; new at each call.
    public static var tls: NWParameters { NWParameters(tls: NWProtocolTLS.Options()) }
  }
#endif
