#if os(Linux)
  /// The types of Apple's Network framework that describe a socket endpoint, for platforms without that framework.
  public enum NWEndpoint {
    /// A name or an address.
    public struct Host: Sendable, Hashable, ExpressibleByStringLiteral, CustomDebugStringConvertible {
      private let name: String

      /// Creates a host from its name, or from its address without brackets.
      public init(_ string: String) { name = string }

      /// Creates a host from its name.
      public init(stringLiteral value: String) { name = value }

      /// The name.
      public var debugDescription: String { name }
    }

    /// A port.
    public struct Port: Sendable, Hashable, RawRepresentable, ExpressibleByIntegerLiteral, CustomDebugStringConvertible
    {
      /// The number.
      public let rawValue: UInt16

      /// Creates a port from its number.
      public init?(rawValue: UInt16) { self.rawValue = rawValue }

      /// Creates a port from a decimal number; `nil` for any other text.
      public init?(_ service: String) {
        guard let number = UInt16(service) else { return nil }
        rawValue = number
      }

      /// Creates a port from its number.
      public init(integerLiteral value: UInt16) { rawValue = value }

      /// Port 0: any port. It cannot be connected to.
      public static let any: Port = 0
      /// Port 80.
      public static let http: Port = 80
      /// Port 443.
      public static let https: Port = 443

      /// The number.
      public var debugDescription: String { String(rawValue) }
    }
  }

  /// The parameters of a connection, reduced to what a socket endpoint needs.
  ///
  /// They can be stored in a `Sendable` endpoint: each property is protected by a lock.
  public final class NWParameters: Sendable, CustomDebugStringConvertible {
    /// The protocols of a connection.
    public final class ProtocolStack: Sendable {
      private let protocols = Locked((application: [NWProtocolOptions](), transport: NWProtocolOptions?.none))

      /// The protocols above TCP, from the top down: WebSocket before TLS.
      public var applicationProtocols: [NWProtocolOptions] {
        get { protocols.withLock { $0.application } }
        set { protocols.replace(\.application, with: newValue) }
      }

      /// The options of TCP.
      public var transportProtocol: NWProtocolOptions? {
        get { protocols.withLock { $0.transport } }
        set { protocols.replace(\.transport, with: newValue) }
      }

      init() {}
    }

    /// The protocol stack of the connection.
    public let defaultProtocolStack = ProtocolStack()

    /// The names of the protocols, from the bottom up, for example `tcp, tls, websocket`.
    public var debugDescription: String {
      let stack = defaultProtocolStack
      let names = [stack.transportProtocol].compactMap(\.self) + stack.applicationProtocols.reversed()
      return names.map(\.name).joined(separator: ", ")
    }

    /// Creates parameters for TCP, with TLS if there are options for it.
    public init(tls: NWProtocolTLS.Options?, tcp: NWProtocolTCP.Options = NWProtocolTCP.Options()) {
      defaultProtocolStack.transportProtocol = tcp
      if let tls { defaultProtocolStack.applicationProtocols.append(tls) }
    }

    /// Parameters for TCP alone; a new object at each call.
    public static var tcp: NWParameters { NWParameters(tls: nil) }
    /// Parameters for TLS over TCP; a new object at each call.
    public static var tls: NWParameters { NWParameters(tls: NWProtocolTLS.Options()) }
  }

  /// The options of a protocol in a connection's stack.
  ///
  /// Sendable, unchecked, because it has subclasses: those in this file, whose options are protected by a lock.
  public class NWProtocolOptions: @unchecked Sendable {
    let name: String

    init(name: String) { self.name = name }
  }

  /// TCP in a connection's stack.
  public enum NWProtocolTCP {
    /// The options of TCP.
    public final class Options: NWProtocolOptions, @unchecked Sendable {
      private let timeout = Locked(0)

      /// The timeout for opening the connection in seconds, including its handshake; 0, the default, for none but
      /// ``WebSocketOptions/connectTimeout``. The shorter one applies.
      public var connectionTimeout: Int {
        get { timeout.withLock { $0 } }
        set { timeout.withLock { $0 = newValue } }
      }

      /// Creates the default options.
      public init() { super.init(name: "tcp") }
    }
  }

  /// TLS in a connection's stack.
  public enum NWProtocolTLS {
    /// The system's TLS, which verifies the peer.
    public final class Options: NWProtocolOptions, @unchecked Sendable {
      /// Creates the default options.
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

    /// The options of WebSocket, which has only one version.
    public final class Options: NWProtocolOptions, @unchecked Sendable {
      private let values = Locked((maximumMessageSize: 0, autoReplyPing: false))

      /// The maximum size of a received message in bytes; 0, the default, for none but
      /// ``WebSocketOptions/maximumMessageSize``. The smaller one applies.
      public var maximumMessageSize: Int {
        get { values.withLock { $0.maximumMessageSize } }
        set { values.withLock { $0.maximumMessageSize = newValue } }
      }
      /// Has no effect: the library responds to pings automatically (RFC 6455 §5.5.2).
      public var autoReplyPing: Bool {
        get { values.withLock { $0.autoReplyPing } }
        set { values.withLock { $0.autoReplyPing = newValue } }
      }

      /// Creates options for a version.
      public init(_ version: Version = .v13) { super.init(name: "websocket") }
    }
  }
#endif
