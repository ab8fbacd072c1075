import Foundation

/// The subset of a connection of Apple's Network framework that a byte transport uses.
///
/// Callbacks may come late or never: a connection that is cancelled before it starts does not call back.
protocol NetworkConnection: AnyObject, Sendable {
  /// Starts connecting. Called once.
  func start(_ handler: @escaping @Sendable (NetworkConnectionUpdate) -> Void)
  /// Receives what has arrived, at least one byte. `isComplete` is true with the last byte or after it.
  func receive(
    maximumLength: Int,
    _ completion: @escaping @Sendable (_ data: Data?, _ isComplete: Bool, NetworkConnectionFailure?) -> Void)
  /// Sends bytes after those of earlier calls.
  func send(_ data: Data, _ completion: @escaping @Sendable (NetworkConnectionFailure?) -> Void)
  func cancel()
}

/// A change in the state of a ``NetworkConnection``.
enum NetworkConnectionUpdate: Sendable {
  /// The connection could not be opened, and would be tried again when the network has changed.
  case waiting(NetworkConnectionFailure, String)
  case ready
  case failed(NetworkConnectionFailure, String)
  case cancelled
}
