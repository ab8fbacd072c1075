import Foundation

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
