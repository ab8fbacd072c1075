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
