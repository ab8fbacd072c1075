import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The initialisers are members of a protocol's extension because what is passed to an actor's own initialiser counts as
// sent away: `let session = MockSession(); let manager = NetworkManager(baseURL: url, session: session)` would not
// compile in Swift 6 where the test looks at `session` afterwards.
extension NetworkManaging where Self == NetworkManager {
  /// A manager whose base URL is asked for with each request, so that it can change between two.
  ///
  /// - Parameters:
  ///   - baseURL: Gives the base URL. It is called on the sender's actor, and by several at once if
  ///     several do.
  ///   - session: Carries the requests: a `URLSession`, or a mock in tests. Defaults to `URLSession.shared`.
  ///   - streamingSession: Carries the requests of ``NetworkManager/stream(_:accessToken:)``. Defaults to `nil`: `session` if it
  ///     conforms to ``URLSessionStreamingProtocol``, as a `URLSession` does, else `URLSession.shared`.
  ///   - loggerSubsystem: The subsystem of the system's log on Apple platforms.
  ///   - userAgentConfiguration: What the `User-Agent` header says. Defaults to `nil`: the transport's own.
  ///   - responseDecoderProvider: Decodes every response that allows it, in the place of the request's own decoding.
  ///     Defaults to `nil`.
  ///   - transport: Which implementation carries the requests of a `URLSession`. Defaults to ``TransportChoice/automatic``.
  public init(
    baseURL: @escaping (() -> URL),
    session: URLSessionProtocol = URLSession.shared,
    streamingSession: URLSessionStreamingProtocol? = nil,
    loggerSubsystem: String = "com.yourapp.networking",
    userAgentConfiguration: UserAgentConfiguration? = nil,
    responseDecoderProvider: (() -> JSONDecoder)? = nil,
    transport: TransportChoice = .automatic
  ) {
    self.init(
      baseURL: baseURL, transport: TransportSelection.transport(for: session, choice: transport),
      streamingTransport: TransportSelection.transport(
        for: streamingSession ?? session as? any URLSessionStreamingProtocol ?? URLSession.shared, choice: transport),
      loggerSubsystem: loggerSubsystem, userAgentConfiguration: userAgentConfiguration,
      responseDecoderProvider: responseDecoderProvider)
  }

  /// A manager with a fixed base URL. The parameters are those of the other initialiser.
  public init(
    baseURL: URL,
    session: URLSessionProtocol = URLSession.shared,
    streamingSession: URLSessionStreamingProtocol? = nil,
    loggerSubsystem: String = "com.yourapp.networking",
    userAgentConfiguration: UserAgentConfiguration? = nil,
    responseDecoderProvider: (() -> JSONDecoder)? = nil,
    transport: TransportChoice = .automatic
  ) {
    self.init(
      baseURL: { baseURL }, session: session, streamingSession: streamingSession, loggerSubsystem: loggerSubsystem,
      userAgentConfiguration: userAgentConfiguration, responseDecoderProvider: responseDecoderProvider,
      transport: transport)
  }

  /// For tests: any transport, any clock.
  init(
    baseURL: @escaping () -> URL, transport: any Transport, streamingTransport: (any Transport)? = nil,
    clock: any Clock<Duration> = ContinuousClock(), loggerSubsystem: String = "com.yourapp.networking",
    userAgentConfiguration: UserAgentConfiguration? = nil, responseDecoderProvider: (() -> JSONDecoder)? = nil
  ) {
    self.init(
      NetworkManager.Dependencies(
        baseURL: baseURL, transport: transport, streamingTransport: streamingTransport ?? transport, clock: clock,
        loggerSubsystem: loggerSubsystem,
        settings: NetworkManager.Settings(
          userAgentConfiguration: userAgentConfiguration, responseDecoderProvider: responseDecoderProvider)))
  }
}
