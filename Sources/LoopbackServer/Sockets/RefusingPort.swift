import Foundation

extension LoopbackServer {
  /// A port of 127.0.0.1 that refuses connections: nothing listens there, and no other program gets it while this value
  /// lives.
  public final class RefusingPort: Sendable {
    /// The port.
    public let port: Int
    private let descriptor: Int32

    /// Takes a free port. Throws ``SocketError`` when the system has none.
    public init() throws { (descriptor, port) = try ListeningSocket.bind() }

    deinit { _ = closeDescriptor(descriptor) }
  }

  /// The number of a port that refuses connections for as long as the process lives; always the same.
  public static func refusedPort() throws -> Int { try refusing.get().port }

  private static let refusing = Result { try RefusingPort() }
}
