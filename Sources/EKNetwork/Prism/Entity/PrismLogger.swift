/// A type that can log a description of itself for a developer.
public protocol PrismLogger {
  /// Writes a description to the log: the unified log on Apple's platforms, standard error elsewhere.
  func log()
}
