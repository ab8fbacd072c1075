import Foundation

/// Settings can be changed at any time, from anywhere; a request that is under way keeps those that it started with.
extension NetworkManager {
  /// Renews the access token when the server responds with 401. Held strongly. Defaults to `nil`: a 401 is
  /// ``NetworkError/unauthorized``.
  public nonisolated var tokenRefresher: TokenRefreshProvider? {
    get { settings.withLock { $0.tokenRefresher } }
    set { settings.replace(\.tokenRefresher, with: newValue) }
  }

  /// What the `User-Agent` header of every request says that has none of its own.
  public nonisolated var userAgentConfiguration: UserAgentConfiguration? {
    get { settings.withLock { $0.userAgentConfiguration } }
    set { settings.replace(\.userAgentConfiguration, with: newValue) }
  }

  /// Decodes every response whose request allows it (`allowsResponseDecoderOverride`), in the place of the request's
  /// own decoding. May be called from any thread.
  public nonisolated var responseDecoderProvider: (() -> JSONDecoder)? {
    get { settings.withLock { $0.responseDecoderProvider } }
    set { settings.replace(\.responseDecoderProvider, with: newValue) }
  }

  /// Receives what happens to requests: attempts, redirects, refreshes, retries, results. Tokens, header values, bodies
  /// and query values never appear. Defaults to `nil`; called on the thread where it happens, so it must be quick.
  public nonisolated var logHandler: NetworkLogHandler? {
    get { logger.handler }
    set { logger.handler = newValue }
  }

  /// Receives what happens to requests, with URLs, errors and timings as they are: for metrics and traces. Defaults to
  /// `nil`, which costs nothing; called on the thread where it happens, so it must be quick.
  public nonisolated var eventHandler: NetworkEventHandler? {
    get { settings.withLock { $0.eventHandler } }
    set { settings.replace(\.eventHandler, with: newValue) }
  }

  /// Keeps responses as their servers allow it, for every request of the manager. Managers may share one. Defaults to
  /// `nil`: nothing is kept.
  public nonisolated var httpCache: HTTPCache? {
    get { settings.withLock { $0.httpCache } }
    set { settings.replace(\.httpCache, with: newValue) }
  }

  /// Whether a GET, HEAD or OPTIONS without a body that is identical to one in flight, its header fields and token
  /// included, waits for the response of that one instead of being sent. Defaults to `false`.
  ///
  /// Each caller keeps his own retries, token refresh, decoding and cancellation: it is the attempts that are shared,
  /// and one whose last caller has been cancelled is cancelled. A request with a ``NetworkRequest/progress``, a stream and a
  /// download are never shared, and no response is that was asked for before a request that changes something ended.
  public nonisolated var sharesIdenticalRequests: Bool {
    get { settings.withLock { $0.sharesIdenticalRequests } }
    set { settings.replace(\.sharesIdenticalRequests, with: newValue) }
  }

  /// Code around whole calls of `send`, `stream`, `events` and `download`, the first outermost: retries, token refreshes
  /// and redirects happen inside. Defaults to none, which costs nothing.
  public nonisolated var middleware: [any NetworkMiddleware] {
    get { settings.withLock { $0.middleware } }
    set { settings.replace(\.middleware, with: newValue) }
  }

  /// Code around each single request of those calls, the first outermost: each attempt, and each redirect of it, also
  /// where ``httpCache`` responds. Defaults to none, which costs nothing. With it ``sharesIdenticalRequests`` has no
  /// effect: requests that look alike may leave the middleware as others.
  public nonisolated var attemptMiddleware: [any NetworkMiddleware] {
    get { settings.withLock { $0.attemptMiddleware } }
    set { settings.replace(\.attemptMiddleware, with: newValue) }
  }

  /// Where ``enqueue(_:priority:)`` keeps requests. Defaults to `nil`. A queue whose delivery is this manager holds it:
  /// setting this to `nil` lets both go.
  public nonisolated var offlineQueue: PrismOfflineQueue? {
    get { settings.withLock { $0.offlineQueue } }
    set { settings.replace(\.offlineQueue, with: newValue) }
  }
}
