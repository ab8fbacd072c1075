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
  /// The delay after a failed flush; only its `delay(for:)` is called. When a request is given up is not up to its
  /// `maxAttempts`, but to ``maximumRetryCount``. A `Retry-After` of the server lengthens the delay, up to five minutes.
  /// Defaults to an exponential backoff from a second to five minutes.
  public var backoff: any PrismRetryPolicy = PrismExponentialBackoff(maxDelay: .seconds(300), maxAttempts: .max)
  /// The number of retries after which a request is given up; the last one sends it alone. A temporary refusal by a
  /// ``CircuitBreaker`` or a ``RateLimiter`` does not count. A negative number counts as zero. Defaults to `nil`: never.
  public var maximumRetryCount: Int?
  /// Whether `Authorization`, `Proxy-Authorization`, `Cookie` and the user and password of a URL are written to disk.
  /// Defaults to `false`: they are left out, and have to be added when the request is sent. Everything else is written,
  /// unencrypted, to a file that only its owner can access: the query, the body, and fields such as `X-Api-Key`.
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
  var clock: any Clock<Duration> = ContinuousClock()

  /// Creates options with the default values.
  public init() {}
}

/// The way in which a ``PrismOfflineQueue`` sends its requests.
public struct PrismQueueDelivery: Sendable {
  enum Way: Sendable {
    case none
    case each(@Sendable (PrismQueuedRequest) async throws -> Void)
    case batch(Batch)
  }

  /// Unchecked: the closure was passed as `sending`, and one flush at a time calls it.
  struct Batch: @unchecked Sendable {
    let send: ([PrismQueuedRequest]) async throws -> Void
  }

  let way: Way

  /// Sends one request at a time, in order: a delivered request is never sent again.
  ///
  /// - Parameter send: Returns when the server has accepted the request, and throws when it has not. A request with an
  ///   error that another attempt cannot change (a 3xx, a 4xx other than 401, 408, 425 and 429, 501 or
  ///   505, a ``NonRetriableError``, a complete response that cannot be decoded) leaves the queue.
  public static func each(
    _ send: @escaping @Sendable (PrismQueuedRequest) async throws -> Void
  ) -> PrismQueueDelivery { PrismQueueDelivery(way: .each(send)) }
}

/// An error of a ``PrismOfflineQueue`` that does not accept a request or cannot be opened.
public enum PrismOfflineQueueError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The maximum number of requests is waiting already.
  case tooManyRequests(limit: Int)
  /// With this request, more bytes would wait than are allowed.
  case tooManyBytes(limit: Int64)
  /// The body is a stream or an asynchronous sequence, of which the queue does not keep a copy for the next attempt. Data, a form
  /// or a file can be sent again.
  case bodyNotRepeatable
  /// The request has no URL.
  case noURL
  /// The file with the body cannot be read or copied.
  case bodyNotReadable(URL)
  /// The folder does not exist, or cannot be written to. `code` is the system's `errno`.
  case notWritable(URL, code: Int32)
  /// Another queue has the folder open, in this process or another one.
  case alreadyOpen(URL)
  /// The manager has no queue.
  case noQueue

  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .tooManyRequests(let limit): "The queue is full: \(limit) requests wait"
    case .tooManyBytes(let limit): "The queue is full: no more than \(limit) bytes may wait"
    case .bodyNotRepeatable: "The queue does not keep the body of a stream or a sequence: use data, a form or a file"
    case .noURL: "The request has no URL"
    case .bodyNotReadable(let url): "The file \(url.path) cannot be read or copied"
    case .notWritable(let url, let code): "The folder \(url.path) cannot be used: \(String(cString: strerror(code)))"
    case .alreadyOpen(let url): "Another queue has the folder \(url.path) open"
    case .noQueue: "The manager has no queue of requests"
    }
  }
}
