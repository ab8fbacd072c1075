import Foundation

/// How a ``PrismGraphQLClient`` speaks with its server. The defaults suit every server that GraphQL over HTTP describes.
public struct PrismGraphQLOptions: Sendable {
  /// Whether queries are sent with GET, so that caches may keep their responses. One whose URL would be long, and every
  /// mutation, is sent with POST all the same. Defaults to `false`.
  public var usesGETForQueries = false
  /// Whether a document is sent by its SHA-256 first, and as a whole only to a server that does not know it ("automatic
  /// persisted queries"). Defaults to `false`.
  public var usesPersistedQueries = false
  /// Whether and when a failed query is sent again. Mutations never are. Defaults to `nil`: never.
  public var retryPolicy: (any PrismRetryPolicy)?
  /// Gives the token for `Authorization: Bearer …`, for each attempt and each subscription. Defaults to `nil`.
  public var accessToken: (@Sendable () -> String?)?
  /// Makes the decoder of responses. Defaults to `JSONDecoder()`.
  public var makeDecoder: @Sendable () -> JSONDecoder = { JSONDecoder() }
  /// Where subscriptions over WebSockets go. Defaults to `nil`: the endpoint's own URL.
  public var webSocketURL: URL?
  /// How WebSockets behave.
  public var webSocket = WebSocketOptions()
  /// What `connection_init` carries, for each connection: often the token. Defaults to `nil`.
  public var connectionPayload: (@Sendable () -> [String: PrismGraphQLValue]?)?
  /// How long a server may take to acknowledge a connection. Defaults to 10 seconds.
  public var acknowledgementTimeout: Duration = .seconds(10)

  /// The defaults.
  public init() {}
}
