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
#endif
