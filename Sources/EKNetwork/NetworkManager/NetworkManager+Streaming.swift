import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkManager: NetworkStreaming {
  /// Sends a request and returns as soon as the head of a successful response is there.
  ///
  /// The request is built as for `send`. A 401 refreshes the token and sends the request again, once, before a byte of
  /// a body is handed on. The retry policy and the progress of the request do not apply: a stream cannot be replayed.
  ///
  /// - Parameters:
  ///   - request: What to send. It is read on the caller's actor. Its `Response` is not used.
  ///   - accessToken: Gives the token for `Authorization: Bearer …`. Defaults to `nil`.
  /// - Returns: The response, its body unread.
  /// - Throws: ``StreamingError/invalidResponse`` for a response that is not HTTP; for a response outside 2xx what
  ///   `send` throws, its body read up to 1 MiB, beyond which it is ``StreamingError/errorPayloadTooLarge(limitBytes:)``;
  ///   `CancellationError` when the task is cancelled.
  public nonisolated(nonsending) func stream<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil
  ) async throws -> StreamingResponse {
    let response = try await runner(over: streamingTransport).stream(
      request, baseURL: baseURL, accessToken: accessToken)
    guard let http = response.head.urlResponse as? HTTPURLResponse else { throw StreamingError.invalidResponse }
    return StreamingResponse(statusCode: http.statusCode, headers: http.headerDictionary, source: response.body)
  }
}

extension NetworkManager {
  /// Subscribes to server-sent events, and stays subscribed: the connection is made again whenever it is lost.
  ///
  /// Any method and body will do; a body that cannot be sent a second time ends the subscription with the connection.
  /// The token is refreshed on 401 as in `stream`. 204 ends the subscription; a wrong content type is
  /// ``EventStreamError``; a response outside 2xx that another attempt would not change is thrown.
  ///
  /// - Parameters:
  ///   - request: What to send. Its `Response` is not used.
  ///   - accessToken: Gives the token; called for each connection. Defaults to `nil`.
  ///   - reconnect: How long to wait before a new connection, and when to give up.
  public nonisolated func events<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil, reconnect: EventReconnectPolicy = EventReconnectPolicy()
  ) -> EventSource<T> {
    events(request, accessToken: accessToken, reconnect: reconnect, options: EventSourceOptions())
  }

  /// The same, with an ID to resume after, a limit of the server's silence, or a notice of each opened stream.
  ///
  /// - Parameters:
  ///   - request: What to send. Its `Response` is not used.
  ///   - accessToken: Gives the token; called for each connection. Defaults to `nil`.
  ///   - reconnect: How long to wait before a new connection, and when to give up.
  ///   - options: How the subscription begins, and what its silence means.
  public nonisolated func events<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil, reconnect: EventReconnectPolicy = EventReconnectPolicy(),
    options: EventSourceOptions
  ) -> EventSource<T> {
    EventSource(
      request: request, clock: clock, stream: { try await self.stream($0, accessToken: accessToken) },
      policy: reconnect, options: options)
  }
}
