import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends typed requests.
///
/// One manager stands for one server and one user's token. It may be used from any task or actor; its documented
/// members are synchronous where the page has them so.
public actor NetworkManager {
  struct Settings {
    var tokenRefresher: (any TokenRefreshProvider)?
    var userAgentConfiguration: UserAgentConfiguration?
    var responseDecoderProvider: (() -> JSONDecoder)?
  }

  // Unchecked: never written after `init`. A closure that several tasks must not call at once has to see to that
  // itself, as the documentation of `init` says.
  /// Gives the base URL; called once for each attempt of each request, on the actor of whoever sends it.
  nonisolated(unsafe) public let baseURL: () -> URL

  nonisolated let settings: Locked<Settings>
  nonisolated let transport: any Transport
  nonisolated let streamingTransport: any Transport
  nonisolated let tokens = TokenRefreshCoordinator()
  nonisolated let logger: NetworkLogger
  nonisolated let clock: any Clock<Duration>

  /// A manager whose base URL is asked for anew with each request, so that it can change between two.
  ///
  /// - Parameters:
  ///   - baseURL: Gives the base URL. It is called on the actor of whoever sends a request, and by several at once if
  ///     several do.
  ///   - session: Carries the requests: a `URLSession`, or a mock in tests. Defaults to `URLSession.shared`.
  ///   - streamingSession: Carries the requests of ``stream(_:accessToken:)``. Defaults to `nil`: `session` if it
  ///     conforms to ``URLSessionStreamingProtocol``, as a `URLSession` does, else `URLSession.shared`.
  ///   - loggerSubsystem: The subsystem of the system's log on Apple platforms.
  ///   - userAgentConfiguration: What the `User-Agent` header says. Defaults to `nil`: the transport's own.
  ///   - responseDecoderProvider: Decodes every response that allows it, in the place of the request's own decoding.
  ///     Defaults to `nil`.
  ///   - transport: Which machinery carries the requests of a `URLSession`. Defaults to ``TransportChoice/automatic``.
  ///   - isolation: Where the call is made. Leave it out: it lets you go on using a mock or what the closures capture,
  ///     none of which need be `Sendable`, after the manager was given it.
  public init(
    baseURL: @escaping (() -> URL),
    session: URLSessionProtocol = URLSession.shared,
    streamingSession: URLSessionStreamingProtocol? = nil,
    loggerSubsystem: String = "com.yourapp.networking",
    userAgentConfiguration: UserAgentConfiguration? = nil,
    responseDecoderProvider: (() -> JSONDecoder)? = nil,
    transport: TransportChoice = .automatic,
    isolation: isolated (any Actor)? = #isolation
  ) {
    self.init(
      baseURL: baseURL, transport: TransportSelection.transport(for: session, choice: transport),
      streamingTransport: TransportSelection.transport(
        for: streamingSession ?? session as? any URLSessionStreamingProtocol ?? URLSession.shared, choice: transport),
      loggerSubsystem: loggerSubsystem, userAgentConfiguration: userAgentConfiguration,
      responseDecoderProvider: responseDecoderProvider, isolation: isolation)
  }

  /// A manager with a fixed base URL. The parameters are those of the other initialiser.
  public init(
    baseURL: URL,
    session: URLSessionProtocol = URLSession.shared,
    streamingSession: URLSessionStreamingProtocol? = nil,
    loggerSubsystem: String = "com.yourapp.networking",
    userAgentConfiguration: UserAgentConfiguration? = nil,
    responseDecoderProvider: (() -> JSONDecoder)? = nil,
    transport: TransportChoice = .automatic,
    isolation: isolated (any Actor)? = #isolation
  ) {
    self.init(
      baseURL: { baseURL }, session: session, streamingSession: streamingSession, loggerSubsystem: loggerSubsystem,
      userAgentConfiguration: userAgentConfiguration, responseDecoderProvider: responseDecoderProvider,
      transport: transport, isolation: isolation)
  }

  /// For tests: any transport, any clock.
  init(
    baseURL: @escaping () -> URL, transport: any Transport, streamingTransport: (any Transport)? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    loggerSubsystem: String = "com.yourapp.networking", userAgentConfiguration: UserAgentConfiguration? = nil,
    responseDecoderProvider: (() -> JSONDecoder)? = nil, isolation: isolated (any Actor)? = #isolation
  ) {
    self.baseURL = baseURL
    self.transport = transport
    self.streamingTransport = streamingTransport ?? transport
    self.clock = clock
    logger = NetworkLogger(subsystem: loggerSubsystem)
    settings = Locked(
      Settings(
        userAgentConfiguration: userAgentConfiguration, responseDecoderProvider: responseDecoderProvider))
  }
}
