import Foundation

/// One thing that happened to a request, with all that is known about it, for metrics and traces.
///
/// Unlike a ``NetworkLogEntry`` it has URLs and errors as they are, secrets included.
public struct NetworkEvent: Sendable {
  /// What happened.
  public enum Kind: Sendable {
    /// An attempt is sent; the first is number 1.
    case attemptStarted(url: URL, attempt: Int)
    /// The server redirected, and the request follows.
    case redirected(status: Int, to: URL)
    /// The server responded with 401, and the request waits for a new token.
    case refreshingToken
    /// An attempt failed with `error`; number `attempt` is sent after the delay.
    case retrying(attempt: Int, after: Duration, error: any Error)
    /// The whole response has been received: `bytes` is the size of its body, content codings undone. A stream ends so
    /// when its last byte has been read.
    case finished(status: Int, bytes: Int64, timings: NetworkTimings)
    /// The request ended in an error, which may be `CancellationError`.
    case failed(any Error)
  }

  /// A number that the events of one request share, in the order in which requests were started.
  public let request: UInt64
  /// The request method.
  public let method: String
  /// Since the request was started, earlier attempts included.
  public let elapsed: Duration
  /// What happened.
  public let kind: Kind
  /// With `finished`: the response's `Cache-Status` field (RFC 9211), whose last member is that of the ``HTTPCache``, if
  /// there is one.
  public let cacheStatus: String?

  /// An event as the library would make it, for tests.
  public init(request: UInt64, method: String, elapsed: Duration, kind: Kind, cacheStatus: String? = nil) {
    self.request = request
    self.method = method
    self.elapsed = elapsed
    self.kind = kind
    self.cacheStatus = cacheStatus
  }
}

/// Receives events, on any thread and several at once. It must return quickly: a request waits for it.
public typealias NetworkEventHandler = @Sendable (NetworkEvent) -> Void
