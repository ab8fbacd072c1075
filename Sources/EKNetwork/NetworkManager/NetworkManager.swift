import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends typed requests.
///
/// One manager stands for one server and one user's token. It may be used from any task or actor; its documented
/// members are synchronous where the page has them so.
public actor NetworkManager {
  /// What a manager is made of. Sendable, unchecked: it is made to be given away, and the rule of `baseURL` below holds
  /// for its closures.
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

  // Unchecked: never written after `init`. A closure that several tasks must not call at once has to see to that
  // itself, as the documentation of `init` says.
  /// Gives the base URL; called once for each attempt of each request, on the sender's actor.
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
}
