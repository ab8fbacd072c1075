import Foundation

extension LoopbackServer {
  /// The error of a failed system call for a socket or thread.
  public struct SocketError: Error, Sendable, CustomStringConvertible {
    /// The name of the call.
    public let call: String
    /// Its `errno`.
    public let code: Int32

    /// The call and the system's error message.
    public var description: String { "\(call): \(String(cString: strerror(code)))" }
  }
}
