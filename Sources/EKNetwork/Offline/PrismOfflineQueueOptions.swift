import Foundation

/// Options of a ``PrismOfflineQueue``. The defaults suit most uses.
public struct PrismOfflineQueueOptions: Sendable {
  /// A closure that receives a request that cannot be delivered, and the reason.
  public typealias UndeliveredHandler = @Sendable (_ request: PrismQueuedRequest, _ error: any Error) async -> Void

  /// The maximum number of waiting requests; with zero or less none is accepted. Defaults to 10,000.
  public var maximumCount = 10_000
  /// The maximum number of waiting bytes, including bodies and copied files; with zero or less none is accepted. Defaults
  /// to 64 MiB.
  public var maximumBytes: Int64 = 64 << 20
  /// The delay after a failed flush; only its `delay(for:)` is called. A `Retry-After` of the server lengthens the
  /// delay, up to five minutes. Defaults to an exponential backoff from a second to five minutes.
  public var backoff: any PrismRetryPolicy = PrismExponentialBackoff(maxDelay: .seconds(300), maxAttempts: .max)
  /// The number of retries after which a request is given up; the last one sends it alone. A temporary refusal by a
  /// ``CircuitBreaker`` or a ``RateLimiter`` does not count. A negative number counts as zero. Defaults to `nil`: never.
  public var maximumRetryCount: Int?
  /// Whether `Authorization`, `Proxy-Authorization`, `Cookie` and the user and password of a URL are written to disk.
  /// Defaults to `false`: they are left out, and have to be added when the request is sent.
  public var storesCredentials = false
  /// Whether stored requests survive a power loss, and not only the end of the process. Defaults to `true`.
  public var synchronizes = true
  /// Reports when the network is back, so that a flush does not wait for the end of the backoff. Defaults to `nil`.
  public var connectivity: PrismConnectivityMonitor?
  /// Called with each request that cannot be delivered: after a 3xx, a 4xx other than 401, 408, 425 and 429, 501 or
  /// 505; after a complete response that cannot be decoded; after an error that no further attempt can change, such as
  /// a ``NonRetriableError``, an invalid URL or a missing body file; or after too many retries. It is called before the
  /// request is removed; if the process is killed in between, it may be called again. If it is `nil`, the request is
  /// written to the developer's log and dropped.
  public var undelivered: UndeliveredHandler?
  /// The clock that measures the backoff.
  var clock: any Clock<Duration> = ContinuousClock()

  /// Creates options with the default values.
  public init() {}
}
