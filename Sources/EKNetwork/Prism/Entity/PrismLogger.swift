/// Something that can describe itself to a developer.
public protocol PrismLogger {
  /// Writes one description to the log: the system's on Apple's platforms, standard error elsewhere.
  func log()
}
