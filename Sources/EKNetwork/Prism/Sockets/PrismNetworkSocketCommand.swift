/// A command that is sent over a socket, as one line.
public protocol PrismNetworkSocketCommand: Sendable {
  /// The text. A newline is appended unless its bytes end in one.
  var message: String { get }
}
