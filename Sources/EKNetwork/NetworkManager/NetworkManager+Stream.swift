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
