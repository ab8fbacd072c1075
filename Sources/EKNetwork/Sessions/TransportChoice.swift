/// The implementation that sends the requests of a `URLSession`.
public enum TransportChoice: Sendable, Equatable {
  /// The best implementation of the platform: `URLSession` on Apple's platforms; on Linux the library's own, unless the session has
  /// a delegate or custom `URLProtocol` classes, or is an instance of a subclass: that code then handles its requests as
  /// usual.
  case automatic
  /// Foundation's own implementation on every platform.
  case urlSession
  /// TLS with certificates other than the system's, or with pinned keys: on Linux over the library's own
  /// implementation, on Apple's platforms over a separate session with the same configuration. The session's delegate is not called.
  case secured(by: TLSOptions)
  /// Connections with options, of which TLS is one: a version of HTTP, a Unix domain socket.
  case connecting(with: ConnectionOptions)

  /// The options; `nil` if there are none.
  var connectionOptions: ConnectionOptions? {
    switch self {
    case .automatic, .urlSession: nil
    case .secured(let tls): ConnectionOptions(tls: tls)
    case .connecting(let options): options
    }
  }
}
