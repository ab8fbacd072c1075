import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
    let hop = try HopRequest(URLRequest(url: baseURL()), session: transport.sessionSettings)
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
  ///     `URLSession.shared`.
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
