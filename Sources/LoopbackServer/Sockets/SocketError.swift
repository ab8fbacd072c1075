import Foundation

extension LoopbackServer {
  /// A system call for a socket or thread that failed.
  public struct SocketError: Error, Sendable, CustomStringConvertible {
    /// The call.
    public let call: String
    /// Its `errno`.
    public let code: Int32

    /// The call and the system's text.
    public var description: String { "\(call): \(String(cString: strerror(code)))" }
  }
}
