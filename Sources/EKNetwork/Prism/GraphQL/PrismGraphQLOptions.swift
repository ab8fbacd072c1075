import Foundation

/// The options of a ``PrismGraphQLClient``. The defaults suit every server that follows GraphQL over HTTP.
public struct PrismGraphQLOptions: Sendable {
  /// Whether queries are sent with GET, so that caches can store their responses. A query whose URL would be too long,
  /// and every mutation, is still sent with POST. Defaults to `false`.
  public var usesGETForQueries = false
  /// Whether only the SHA-256 of a document is sent at first, and the whole document only to a server that does not
  /// know it ("automatic persisted queries"). Defaults to `false`.
  public var usesPersistedQueries = false
  /// The policy that decides whether and when a failed query is sent again. Mutations never are. Defaults to `nil`:
  /// never.
  public var retryPolicy: (any PrismRetryPolicy)?
  /// A closure that returns the token for `Authorization: Bearer …`, called for each attempt and each subscription.
  /// Defaults to `nil`.
  public var accessToken: (@Sendable () -> String?)?
  /// A closure like ``accessToken`` that is asynchronous, to get the token from an actor, for example; if it is set, the other
  /// one is not called. If it throws, nothing is sent, and its error is the cause of the failure. Defaults to `nil`.
  public var accessTokenProvider: (@Sendable () async throws -> String?)?
  /// A closure that returns the decoder for a response. Defaults to `JSONDecoder()`.
  public var makeDecoder: @Sendable () -> JSONDecoder = { JSONDecoder() }
  /// The URL for subscriptions over WebSockets. Defaults to `nil`: the URL of the endpoint.
  public var webSocketURL: URL?
  /// The options of the WebSockets. Those of the manager's session apply where ``WebSocketOptions/tls`` or the proxies are
  /// not set: its ``TLSOptions``, and its `connectionProxyDictionary`. What a WebSocket cannot take over fails the
  /// subscription with a ``TransportOptionError`` as the cause, and nothing is sent: on Apple's platforms a proxy, and a
  /// session delegate that receives authentication challenges, unless `tls` is set.
  public var webSocket = WebSocketOptions()
  /// A closure that returns the payload of `connection_init`, often the token; called for each connection. Defaults to
  /// `nil`.
  public var connectionPayload: (@Sendable () -> [String: PrismGraphQLValue]?)?
  /// The time within which the server must acknowledge a connection; with zero or less it is over at once. Defaults to 10
  /// seconds.
  public var acknowledgementTimeout: Duration = .seconds(10)

  /// Creates the default options.
  public init() {}

  var token: AccessToken { accessTokenProvider.map { AccessToken($0) } ?? AccessToken(accessToken) }
}
