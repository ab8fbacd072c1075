/// A type that can log a description of itself for a developer.
public protocol PrismLogger {
  /// Writes a description to the log: the unified log on Apple's platforms, standard error elsewhere.
  func log()
}

extension PrismNetworkError: PrismLogger {
  /// Writes ``description`` to the log.
  public func log() { DeveloperLog.write(description) }
}
