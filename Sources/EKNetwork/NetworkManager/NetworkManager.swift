import Foundation

/// A client that sends typed requests.
///
/// A manager serves one server and one user's token. It may be used from any task or actor; although it is an actor,
/// its properties and synchronous methods need no `await`.
public actor NetworkManager {
  /// The parts of a manager. Sendable, unchecked: it is created only to be passed on, and its closures follow the rule
  /// of `baseURL` below.
  struct Dependencies: @unchecked Sendable {
    var baseURL: () -> URL
    var transport: any Transport
    var streamingTransport: any Transport
    var clock: any Clock<Duration>
    var loggerSubsystem: String
    var settings: Settings
  }

  struct Settings {
    var tokenRefresher: (any TokenRefreshProvider)?
    var userAgentConfiguration: UserAgentConfiguration?
    var responseDecoderProvider: (() -> JSONDecoder)?
    var defaults: ClientDefaults?
    var eventHandler: NetworkEventHandler?
    var httpCache: HTTPCache?
    var sharesIdenticalRequests = false
    var offlineQueue: PrismOfflineQueue?
    var middleware: [any NetworkMiddleware] = []
    var attemptMiddleware: [any NetworkMiddleware] = []

    /// Whether there is middleware, which may change what a stored response depends on.
    var hasMiddleware: Bool { !middleware.isEmpty || !attemptMiddleware.isEmpty }
    /// Whether identical requests share an exchange: middleware may turn them into different ones.
    var sharesExchanges: Bool { sharesIdenticalRequests && attemptMiddleware.isEmpty }

    /// Returns a transport with the caches and the middleware in front of it.
    ///
    /// - Parameter lookup: The lookup of a call's own policy; `nil` if there is none, or it has taken place.
    func transport(over wire: any Transport, owner: String, lookup: PolicyLookup? = nil) -> any Transport {
      var transport: any Transport = httpCache.map { CachingTransport(wire: wire, cache: $0) } ?? wire
      if let lookup { transport = PolicyTransport(wire: transport, lookup: lookup) }
      guard hasMiddleware else { return transport }
      return MiddlewareTransport(wire: transport, middleware: attemptMiddleware.used(for: lookup), owner: owner)
    }
  }

  // Unchecked: never written after `init`. A closure that must not be called concurrently has to ensure that itself, as
  // the documentation of `init` says.
  /// Returns the base URL; called once for each attempt of each request, on the sender's actor.
  nonisolated(unsafe) public let baseURL: () -> URL

  nonisolated let settings: Locked<Settings>
  nonisolated let transport: any Transport
  nonisolated let streamingTransport: any Transport
  nonisolated let tokens = TokenRefreshCoordinator()
  nonisolated let middlewareOwner = UUID().uuidString
  nonisolated let sharedExchanges = SharedFlights<ExchangeKey>()
  nonisolated let logger: NetworkLogger
  nonisolated let clock: any Clock<Duration>

  init(_ dependencies: Dependencies) {
    baseURL = dependencies.baseURL
    transport = dependencies.transport
    streamingTransport = dependencies.streamingTransport
    clock = dependencies.clock
    logger = NetworkLogger(subsystem: dependencies.loggerSubsystem)
    settings = Locked(dependencies.settings)
  }

  /// Opens a connection to the server of ``baseURL``, with TLS if it has some, before a request needs it: the next request
  /// does not wait for that. Nothing is sent over it. If a connection is free already, nothing is done; several calls at
  /// once open as many connections of HTTP/1.1, and one of HTTP/2. A connection that is not used is closed after two
  /// minutes.
  ///
  /// - Returns: Whether there is a connection now. `false` where only requests open connections: with `URLSession`, on
  ///   Apple's platforms and with ``TransportChoice/urlSession``, and with injected sessions.
  /// - Throws: The errors of connecting that a request throws, such as `URLError.cannotConnectToHost`, and
  ///   `CancellationError` if the task is cancelled.
  @discardableResult
  public nonisolated func preconnect() async throws -> Bool {
    let hop = try HopRequest(HTTPRequest(url: baseURL()), session: transport.sessionSettings)
    return try await transport.preconnect(TransportRequest(hop))
  }
}

// The initialisers are members of a protocol extension because the arguments of an actor's own initialiser count as
// sent: `let session = MockSession(); let manager = NetworkManager(baseURL: url, session: session)` would not compile
// in Swift 6 if the test uses `session` afterwards.
extension NetworkManaging where Self == NetworkManager {
  /// Creates a manager whose base URL is read for each attempt, so that it can change between attempts.
  ///
  /// - Parameters:
  ///   - baseURL: Returns the base URL. It is called on the sender's actor, and concurrently if there are several
  ///     senders.
  ///   - session: The session that sends the requests: a `URLSession`, or a mock in tests. Defaults to
  ///     `URLSession.shared`, which stores cookies for the whole process, and some for the next one: a server that acts for
  ///     several users needs a session with `httpCookieStorage = nil`.
  ///   - streamingSession: The session that sends the requests of `NetworkManager.stream(_:accessToken:)`. Defaults
  ///     to `nil`: `session` if it conforms to ``URLSessionStreamingProtocol``, as a `URLSession` does, otherwise
  ///     `URLSession.shared`, which is the real network: pass it beside a mock that cannot stream.
  ///   - loggerSubsystem: The subsystem of the unified log on Apple platforms.
  ///   - userAgentConfiguration: The content of the `User-Agent` header. Defaults to `nil`: that of the transport.
  ///   - responseDecoderProvider: Returns the decoder for every response that allows it, instead of the request's own
  ///     decoding. Defaults to `nil`.
  ///   - transport: The implementation that sends the requests of a `URLSession`. Defaults to
  ///     ``TransportChoice/automatic``.
  ///   - defaults: What the requests have in common. Defaults to nothing.
  public init(
    baseURL: @escaping (() -> URL),
    session: URLSessionProtocol = URLSession.shared,
    streamingSession: URLSessionStreamingProtocol? = nil,
    loggerSubsystem: String = "com.yourapp.networking",
    userAgentConfiguration: UserAgentConfiguration? = nil,
    responseDecoderProvider: (() -> JSONDecoder)? = nil,
    transport: TransportChoice = .automatic,
    defaults: RequestDefaults = RequestDefaults()
  ) {
    self.init(
      baseURL: baseURL, transport: TransportSelection.transport(for: session, choice: transport),
      streamingTransport: TransportSelection.transport(
        for: streamingSession ?? session as? any URLSessionStreamingProtocol ?? URLSession.shared, choice: transport),
      loggerSubsystem: loggerSubsystem, userAgentConfiguration: userAgentConfiguration,
      responseDecoderProvider: responseDecoderProvider, defaults: defaults)
  }

  /// Creates a manager with a fixed base URL. The parameters are those of the other initialiser.
  public init(
    baseURL: URL,
    session: URLSessionProtocol = URLSession.shared,
    streamingSession: URLSessionStreamingProtocol? = nil,
    loggerSubsystem: String = "com.yourapp.networking",
    userAgentConfiguration: UserAgentConfiguration? = nil,
    responseDecoderProvider: (() -> JSONDecoder)? = nil,
    transport: TransportChoice = .automatic,
    defaults: RequestDefaults = RequestDefaults()
  ) {
    self.init(
      baseURL: { baseURL }, session: session, streamingSession: streamingSession, loggerSubsystem: loggerSubsystem,
      userAgentConfiguration: userAgentConfiguration, responseDecoderProvider: responseDecoderProvider,
      transport: transport, defaults: defaults)
  }

  /// Creates a manager with the given transport and clock, for tests.
  init(
    baseURL: @escaping () -> URL, transport: any Transport, streamingTransport: (any Transport)? = nil,
    clock: any Clock<Duration> = ContinuousClock(), loggerSubsystem: String = "com.yourapp.networking",
    userAgentConfiguration: UserAgentConfiguration? = nil, responseDecoderProvider: (() -> JSONDecoder)? = nil,
    defaults: RequestDefaults = RequestDefaults()
  ) {
    self.init(
      NetworkManager.Dependencies(
        baseURL: baseURL, transport: transport, streamingTransport: streamingTransport ?? transport, clock: clock,
        loggerSubsystem: loggerSubsystem,
        settings: NetworkManager.Settings(
          userAgentConfiguration: userAgentConfiguration, responseDecoderProvider: responseDecoderProvider,
          defaults: ClientDefaults(defaults))))
  }
}

/// The requirements of a client that sends typed requests, which ``NetworkManager`` meets, so that tests can inject a
/// mock.
public protocol NetworkManaging {
  /// The provider that renews the access token when the server responds with 401.
  var tokenRefresher: TokenRefreshProvider? { get set }
  /// Sends a request and decodes its response.
  nonisolated(nonsending) func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws
    -> T.Response
}

extension NetworkManaging {
  /// Sends a request that needs no access token.
  @_disfavoredOverload
  public nonisolated(nonsending) func send<T: NetworkRequest>(_ request: T) async throws -> T.Response {
    try await send(request, accessToken: nil)
  }

  /// Sends a request that needs no access token, and whose response may be unused.
  @_disfavoredOverload @discardableResult
  public nonisolated(nonsending) func send<T: NetworkRequest>(
    _ request: T
  ) async throws -> T.Response where T.Response: DiscardableResponse {
    try await send(request, accessToken: nil)
  }
}

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
  /// attempt is cancelled once its last caller has been cancelled. A request with a ``NetworkRequest/progress``, an
  /// ``NetworkRequest/onInterimResponse`` or a ``NetworkRequest/totalTimeout``, also one from ``defaults``, a stream and
  /// a download are never shared. Requests that start after a request with an unsafe method has ended never share a
  /// response requested before that. With ``middleware``, a GET that is sent with a cache policy is not shared, because
  /// the store is looked up behind the middleware; with ``attemptMiddleware``, nothing is.
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
