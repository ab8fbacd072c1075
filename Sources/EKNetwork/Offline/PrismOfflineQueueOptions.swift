import Foundation

/// How a ``PrismOfflineQueue`` behaves. The defaults suit most.
public struct PrismOfflineQueueOptions: Sendable {
  /// Is given what can never be delivered, and why.
  public typealias UndeliveredHandler = @Sendable (_ request: PrismQueuedRequest, _ error: any Error) async -> Void

  /// How many requests may wait. Defaults to 10,000.
  public var maximumCount = 10_000
  /// How many bytes may wait, bodies and copied files included. Defaults to 64 MiB.
  public var maximumBytes: Int64 = 64 << 20
  /// How long to wait after a failed flush; asked for `delay(for:)` alone. A `Retry-After` of the server lengthens the
  /// delay, up to five minutes. Defaults to an exponential backoff from a second to five minutes.
  public var backoff: any PrismRetryPolicy = PrismExponentialBackoff(maxDelay: .seconds(300), maxAttempts: .max)
  /// After how many retries a request is given up. Defaults to `nil`: never.
  public var maximumRetryCount: Int?
  /// Whether `Authorization`, `Proxy-Authorization`, `Cookie` and the user and password of a URL are written to disk.
  /// Defaults to `false`: they are left out, and have to be added when the request is sent.
  public var storesCredentials = false
  /// Whether what is written survives a loss of power, and not only the end of the process. Defaults to `true`.
  public var synchronizes = true
  /// Tells when the network is back, so that a flush does not wait for the end of the backoff. Defaults to `nil`.
  public var connectivity: PrismConnectivityMonitor?
  /// Is given what can never be delivered: a 4xx other than 401, 408, 425 and 429, a missing body file, what was given
  /// up. It is called before the request is removed; killed in between, the process may call it again. Without one,
  /// the request is named in the developer's log and dropped.
  public var undelivered: UndeliveredHandler?
  /// Measures the backoff.
  var clock: any Clock<Duration> = ContinuousClock()

  /// The defaults.
  public init() {}
}
