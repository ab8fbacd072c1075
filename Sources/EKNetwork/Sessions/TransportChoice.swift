/// Which implementation carries the requests of a `URLSession`.
public enum TransportChoice: Sendable, Equatable {
  /// The best that the platform has: `URLSession` on Apple's platforms; on Linux libcurl, unless the session has a
  /// delegate or custom `URLProtocol` classes, or is of a subclass: that code then sees its requests as ever.
  case automatic
  /// Foundation's own implementation on every platform.
  case urlSession
  /// Other certificates than the system's, or pinned keys: over libcurl on Linux, on Apple's platforms over a session
  /// of its own with the same configuration. A delegate of the session is not asked.
  case secured(by: TLSOptions)
}
