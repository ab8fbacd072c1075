import Foundation

/// Settings can be changed at any time, from any thread. A request in progress keeps the values that it started with,
/// except that a new `logHandler` receives its remaining entries if it was already being logged. A subscription uses
/// the current values for each connection.
extension NetworkManager {
  /// The provider that renews the access token when the server responds with 401. Held strongly. Defaults to `nil`: a
  /// 401 throws ``NetworkError/unauthorized``.
  public nonisolated var tokenRefresher: TokenRefreshProvider? {
    get { settings.withLock { $0.tokenRefresher } }
    set { settings.replace(\.tokenRefresher, with: newValue) }
  }

  /// The content of the `User-Agent` header of every request that does not set its own.
  public nonisolated var userAgentConfiguration: UserAgentConfiguration? {
    get { settings.withLock { $0.userAgentConfiguration } }
    set { settings.replace(\.userAgentConfiguration, with: newValue) }
  }

  /// A closure that returns the decoder for every response whose request allows it (`allowsResponseDecoderOverride`),
  /// instead of the request's own decoding. It may be called on any thread.
  public nonisolated var responseDecoderProvider: (() -> JSONDecoder)? {
    get { settings.withLock { $0.responseDecoderProvider } }
    set { settings.replace(\.responseDecoderProvider, with: newValue) }
  }

  /// What the requests of the manager have in common. Defaults to ``RequestDefaults/init()``: nothing.
  public nonisolated var defaults: RequestDefaults {
    get { clientDefaults?.values ?? RequestDefaults() }
    set { settings.replace(\.defaults, with: ClientDefaults(newValue)) }
  }

  nonisolated var clientDefaults: ClientDefaults? { settings.withLock { $0.defaults } }

  /// A closure that receives the log entries of requests: attempts, redirects, refreshes, retries, results. Tokens,
  /// header values, bodies and query values never appear. Defaults to `nil`. It is called synchronously on the thread
  /// of the event, so it must be quick.
  public nonisolated var logHandler: NetworkLogHandler? {
    get { logger.handler }
    set { logger.handler = newValue }
  }

  /// A closure that receives the events of requests, with unredacted URLs, errors and timings, for metrics and traces.
  /// Defaults to `nil`, which costs nothing. It is called synchronously on the thread of the event, so it must be
  /// quick.
  public nonisolated var eventHandler: NetworkEventHandler? {
    get { settings.withLock { $0.eventHandler } }
    set { settings.replace(\.eventHandler, with: newValue) }
  }

  /// The cache that stores responses as their servers allow it, for every request of the manager. Managers may share
  /// one. Defaults to `nil`: nothing is cached.
  public nonisolated var httpCache: HTTPCache? {
    get { settings.withLock { $0.httpCache } }
    set { settings.replace(\.httpCache, with: newValue) }
  }

  /// Whether a GET, HEAD or OPTIONS without a body that is identical to one in flight, header fields and token
  /// included, waits for that one's response instead of being sent. The fields of a trace, `traceparent` and
  /// `tracestate`, may differ. Defaults to `false`.
  ///
  /// Each caller has its own retries, token refresh, decoding and cancellation: only the attempts are shared, and an
  /// attempt is cancelled once its last caller has been cancelled. A request with a ``NetworkRequest/progress``, a
  /// stream and a download are never shared. Requests that start after a request with an unsafe method has ended never
  /// share a response requested before that.
  public nonisolated var sharesIdenticalRequests: Bool {
    get { settings.withLock { $0.sharesIdenticalRequests } }
    set { settings.replace(\.sharesIdenticalRequests, with: newValue) }
  }

  /// The middleware around whole calls of `send`, `stream`, `events` and `download`, the first outermost: retries,
  /// token refreshes and redirects happen inside. Defaults to none, which costs nothing.
  public nonisolated var middleware: [any NetworkMiddleware] {
    get { settings.withLock { $0.middleware } }
    set { settings.replace(\.middleware, with: newValue) }
  }

  /// The middleware around each single request of those calls, the first outermost: each attempt and each of its
  /// redirects, even if ``httpCache`` responds. Defaults to none, which costs nothing. With attempt middleware,
  /// ``sharesIdenticalRequests`` has no effect: the middleware may turn identical requests into different ones.
  public nonisolated var attemptMiddleware: [any NetworkMiddleware] {
    get { settings.withLock { $0.attemptMiddleware } }
    set { settings.replace(\.attemptMiddleware, with: newValue) }
  }

  /// The queue of ``enqueue(_:priority:)``. Defaults to `nil`. A queue that delivers through this manager holds it
  /// strongly: setting this to `nil` releases both.
  public nonisolated var offlineQueue: PrismOfflineQueue? {
    get { settings.withLock { $0.offlineQueue } }
    set { settings.replace(\.offlineQueue, with: newValue) }
  }
}
