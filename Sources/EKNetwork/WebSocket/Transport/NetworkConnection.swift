import Foundation

/// What is needed of a connection of Apple's Network framework.
///
/// It calls back late, and not always: one that is cancelled before it starts never does.
protocol NetworkConnection: AnyObject, Sendable {
  /// Begins to connect. Called once.
  func start(_ handler: @escaping @Sendable (NetworkConnectionUpdate) -> Void)
  /// Asks for what has arrived, at least a byte. `isComplete` with, or after, the last one.
  func receive(
    maximumLength: Int, _ completion: @escaping @Sendable (_ data: Data?, _ isComplete: Bool, NetworkFailure?) -> Void)
  /// Sends bytes after those of earlier calls.
  func send(_ data: Data, _ completion: @escaping @Sendable (NetworkFailure?) -> Void)
  func cancel()
}

/// What a ``NetworkConnection`` says about itself.
enum NetworkConnectionUpdate: Sendable {
  /// It could not connect, and would try again when the network has changed.
  case waiting(NetworkFailure, String)
  case ready
  case failed(NetworkFailure, String)
  case cancelled
}
