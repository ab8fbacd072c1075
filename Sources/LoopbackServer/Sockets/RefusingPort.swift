import Foundation

extension LoopbackServer {
  /// A port of 127.0.0.1 that refuses connections: nothing listens on it, and no other program can bind it during the
  /// lifetime of this object.
  public final class RefusingPort: Sendable {
    /// The port number.
    public let port: Int
    private let descriptor: Int32

    /// Reserves a free port. Throws ``SocketError`` if the system has none.
    public init() throws { (descriptor, port) = try ListeningSocket.bind() }

    deinit { _ = closeDescriptor(descriptor) }
  }

  /// Returns the number of a port that refuses connections for the lifetime of the process; always the same one.
  public static func refusedPort() throws -> Int { try refusing.get().port }

  private static let refusing = Result { try RefusingPort() }
}
