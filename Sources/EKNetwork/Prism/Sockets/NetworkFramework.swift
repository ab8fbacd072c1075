#if os(Linux)
  /// The names of Apple's Network framework that a socket endpoint is described with, where there is no such framework.
  public enum NWEndpoint {
    /// A name or an address.
    public struct Host: Sendable, Hashable, ExpressibleByStringLiteral, CustomDebugStringConvertible {
      private let name: String

      /// A host by its name, or by its address without brackets.
      public init(_ string: String) { name = string }

      /// A host by its name.
      public init(stringLiteral value: String) { name = value }

      /// The name.
      public var debugDescription: String { name }
    }

    /// A port.
    public struct Port: Sendable, Hashable, RawRepresentable, ExpressibleByIntegerLiteral, CustomDebugStringConvertible
    {
      /// The number.
      public let rawValue: UInt16

      /// A port by its number.
      public init?(rawValue: UInt16) { self.rawValue = rawValue }

      /// A port by its number, written in decimal; `nil` for anything else.
      public init?(_ service: String) {
        guard let number = UInt16(service) else { return nil }
        rawValue = number
      }

      /// A port by its number.
      public init(integerLiteral value: UInt16) { rawValue = value }

      /// Port 80.
      public static let http: Port = 80
      /// Port 443.
      public static let https: Port = 443

      /// The number.
      public var debugDescription: String { String(rawValue) }
    }
  }

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

  /// The options of a protocol in a connection's stack.
  public class NWProtocolOptions {
    let name: String

    init(name: String) { self.name = name }
  }

  /// TLS in a connection's stack.
  public enum NWProtocolTLS {
    /// TLS as the system has it: the peer is verified.
    public final class Options: NWProtocolOptions {
      /// The defaults.
      public init() { super.init(name: "tls") }
    }
  }

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
