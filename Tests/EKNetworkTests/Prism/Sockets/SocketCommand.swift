import EKNetwork

/// A command of exactly this text.
struct SocketCommand: PrismNetworkSocketCommand {
  let message: String

  init(_ message: String) { self.message = message }
}
