import Foundation

extension NetworkManager: NetworkStreaming {
  /// Sends a request and returns as soon as the head of a response has arrived whose status the request accepts.
  ///
  /// The request is built as for `send`. A 401 refreshes the token and sends the request again, once, before any of the
  /// body is returned. The retry policy and the progress of the request do not apply: a stream cannot be replayed.
  ///
  /// - Parameters:
  ///   - request: The request to send. It is read on the caller's actor. Its `Response` is not used.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`. Defaults to `nil`.
  /// - Returns: The response, with its body still unread.
  /// - Throws: ``StreamingError/invalidResponse`` for a response that is not HTTP; for every other status what
  ///   `send` throws, or ``StreamingError/errorPayloadTooLarge(limitBytes:)`` if its body is longer than 1 MiB;
  ///   `CancellationError` when the task is cancelled.
  public nonisolated(nonsending) func stream<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil
  ) async throws -> StreamingResponse {
    try await stream(request, AccessToken(accessToken))
  }

  nonisolated(nonsending) func stream<T: NetworkRequest>(
    _ request: T, _ token: AccessToken, isSubscription: Bool = false, wasCarriedOut: Locked<Bool>? = nil
  ) async throws -> StreamingResponse {
    let runner = runner(over: streamingTransport, token: token.renewal)
    // What attempt middleware has sent before the last request counts as well.
    defer { if runner.transport.hiddenFate == .carriedOut { wasCarriedOut?.withLock { $0 = true } } }
    let response = try await runner.stream(
      request, baseURL: baseURL, accessToken: token.read, isSubscription: isSubscription,
      wasCarriedOut: wasCarriedOut)
    guard let http = response.head.urlResponse as? HTTPURLResponse else { throw StreamingError.invalidResponse }
    return StreamingResponse(http, source: response.body)
  }

  /// Subscribes to server-sent events, and reconnects whenever the connection is lost.
  ///
  /// Any method and body may be used; a body that cannot be sent twice ends the subscription when the connection is
  /// lost. A stream that the server has ended is requested again only if the request is idempotent
  /// (``NetworkRequest/isIdempotent``): otherwise it was processed, and the subscription ends. For a request that must not
  /// be repeated after a lost connection either, use `stream(_:accessToken:)` and ``StreamingResponse/events(maximumLength:)``.
  /// The token is refreshed on 401 as in `stream`. A 204 ends the subscription; a wrong content type throws
  /// ``EventStreamError``; a response outside 2xx that is not transient is thrown. So is a failure of TLS, or a lack of
  /// resources to connect, before a stream has been open; afterwards only a certificate that is not accepted.
  ///
  /// - Parameters:
  ///   - request: The request to send. Its `Response` is not used.
  ///   - accessToken: Returns the token; called for each connection. Defaults to `nil`.
  ///   - reconnect: The policy for the delay before each reconnection, and for when to give up.
  public nonisolated func events<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil, reconnect: EventReconnectPolicy = EventReconnectPolicy()
  ) -> EventSource<T> {
    events(request, accessToken: accessToken, reconnect: reconnect, options: EventSourceOptions())
  }

  /// Subscribes to server-sent events with options: an ID to resume after, an idle timeout, or a callback for each
  /// opened stream.
  ///
  /// - Parameters:
  ///   - request: The request to send. Its `Response` is not used.
  ///   - accessToken: Returns the token; called for each connection. Defaults to `nil`.
  ///   - reconnect: The policy for the delay before each reconnection, and for when to give up.
  ///   - options: The options of the subscription.
  public nonisolated func events<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil, reconnect: EventReconnectPolicy = EventReconnectPolicy(),
    options: EventSourceOptions
  ) -> EventSource<T> {
    eventSource(request, reconnect, options) { AccessToken(accessToken) }
  }

  /// - Parameter token: Returns the token of a connection.
  nonisolated func eventSource<T: NetworkRequest>(
    _ request: T, _ reconnect: EventReconnectPolicy, _ options: EventSourceOptions, token: @escaping () -> AccessToken
  ) -> EventSource<T> {
    EventSource(
      request: request, clock: clock, policy: reconnect, options: options,
      defaults: { self.clientDefaults }
    ) {
      let token = token()
      do {
        return try await self.stream($0, token, isSubscription: true, wasCarriedOut: $0.wasCarriedOut)
      } catch {
        throw token.renewal?.hasFailed == true ? TokenError(cause: error) : error
      }
    }
  }
}
