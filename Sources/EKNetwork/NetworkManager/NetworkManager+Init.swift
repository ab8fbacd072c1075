import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
  ///     `URLSession.shared`.
  ///   - streamingSession: The session that sends the requests of ``NetworkManager/stream(_:accessToken:)``. Defaults
  ///     to `nil`: `session` if it conforms to ``URLSessionStreamingProtocol``, as a `URLSession` does, otherwise
  ///     `URLSession.shared`.
  ///   - loggerSubsystem: The subsystem of the unified log on Apple platforms.
  ///   - userAgentConfiguration: The content of the `User-Agent` header. Defaults to `nil`: that of the transport.
  ///   - responseDecoderProvider: Returns the decoder for every response that allows it, instead of the request's own
  ///     decoding. Defaults to `nil`.
  ///   - transport: The implementation that sends the requests of a `URLSession`. Defaults to
  ///     ``TransportChoice/automatic``.
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

  /// Creates a manager with a fixed base URL. The parameters are those of the other initialiser.
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

  /// Creates a manager with the given transport and clock, for tests.
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
