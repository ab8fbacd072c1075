import Foundation

// The methods with a token that is obtained asynchronously. They are disfavored, so that a closure that is not asynchronous
// remains that of the documented methods, and they have no default for it, so that a call without one does, too.

extension NetworkManaging where Self == NetworkManager {
  /// Sends a request and decodes its response, away from the caller's actor, with a token that is obtained asynchronously:
  /// from an actor, for example.
  ///
  /// ```swift
  /// let user = try await manager.send(GetUser(id: 42), accessToken: { await tokens.current })
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request to send. It is read on the caller's actor, once for each attempt.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt, so that an attempt
  ///     after a refresh uses the new token. Nothing is sent if it throws, and no attempt follows. It is cancelled with the
  ///     task, and when the request's `totalTimeout` has passed, and is then not waited for.
  /// - Returns: The decoded response of the first attempt that succeeds.
  /// - Throws: The error of `accessToken`, and what `send` without such a closure throws.
  @_disfavoredOverload
  public nonisolated(nonsending) func send<T: NetworkRequest & SendableMetatype>(
    _ request: T, accessToken: @escaping @Sendable () async throws -> String?
  ) async throws -> T.Response where T.Response: SendableMetatype {
    let manager: NetworkManager = self
    return try await manager.sendAndDecodeElsewhere(request, AccessToken(accessToken)).value
  }

  /// Sends a request whose response may be unused, otherwise like the function above.
  @_disfavoredOverload @discardableResult
  public nonisolated(nonsending) func send<T: NetworkRequest & SendableMetatype>(
    _ request: T, accessToken: @escaping @Sendable () async throws -> String?
  ) async throws -> T.Response where T.Response: DiscardableResponse & SendableMetatype {
    let manager: NetworkManager = self
    return try await manager.sendAndDecodeElsewhere(request, AccessToken(accessToken)).value
  }

  /// Sends a request whose conformance may be isolated to an actor, with a token that is obtained asynchronously: the
  /// response is decoded on the caller's actor.
  @_disfavoredOverload
  public nonisolated(nonsending) func send<T: NetworkRequest>(
    _ request: T, accessToken: @escaping @Sendable () async throws -> String?
  ) async throws -> T.Response {
    let manager: NetworkManager = self
    let decoder = manager.responseDecoder(for: request)
    let response = try await manager.load(request, AccessToken(accessToken))
    return try decoder.decode(request, response)
  }
}

extension NetworkManager {
  /// Sends a request and returns its response as it was received, with a token that is obtained asynchronously. See
  /// `response(to:accepting:accessToken:)` for everything else.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - statuses: The statuses of which a response is returned. Defaults to ``StatusCodes/any``.
  ///   - accessToken: Returns the token; called for each attempt. Nothing is sent if it throws.
  /// - Throws: The error of `accessToken`, and what `send` throws, except the errors of decoding.
  @_disfavoredOverload
  public nonisolated(nonsending) func response<T: NetworkRequest>(
    to request: T, accepting statuses: StatusCodes = .any, accessToken: @escaping @Sendable () async throws -> String?
  ) async throws -> NetworkResponse {
    try await response(to: request, accepting: statuses, AccessToken(accessToken))
  }

  /// Sends a request, and returns the decoded response with its head, with a token that is obtained asynchronously. See
  /// `decodedResponse(to:accessToken:)` for everything else.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - accessToken: Returns the token; called for each attempt. Nothing is sent if it throws.
  /// - Throws: The error of `accessToken`, and what `send` throws.
  @_disfavoredOverload
  public nonisolated(nonsending) func decodedResponse<T: NetworkRequest & SendableMetatype>(
    to request: T, accessToken: @escaping @Sendable () async throws -> String?
  ) async throws -> DecodedResponse<T.Response> where T.Response: SendableMetatype {
    let (value, head) = try await sendAndDecodeElsewhere(request, AccessToken(accessToken))
    return DecodedResponse(value, head)
  }

  /// Sends a request whose conformance may be isolated to an actor, with a token that is obtained asynchronously: the response
  /// is decoded on the caller's actor.
  @_disfavoredOverload
  public nonisolated(nonsending) func decodedResponse<T: NetworkRequest>(
    to request: T, accessToken: @escaping @Sendable () async throws -> String?
  ) async throws -> DecodedResponse<T.Response> {
    let decoder = responseDecoder(for: request)
    let response = try await load(request, AccessToken(accessToken))
    return DecodedResponse(try decoder.decode(request, response), response.head)
  }

  /// Sends a request and returns as soon as the head of a response has arrived, with a token that is obtained
  /// asynchronously. See `stream(_:accessToken:)` for everything else.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - accessToken: Returns the token; called for each attempt. Nothing is sent if it throws, and its error is thrown.
  @_disfavoredOverload
  public nonisolated(nonsending) func stream<T: NetworkRequest>(
    _ request: T, accessToken: @escaping @Sendable () async throws -> String?
  ) async throws -> StreamingResponse {
    try await stream(request, AccessToken(accessToken))
  }

  /// Subscribes to server-sent events, with a token that is obtained asynchronously. See
  /// `events(_:accessToken:reconnect:options:)` for everything else.
  ///
  /// - Parameters:
  ///   - request: The request to send. Its `Response` is not used.
  ///   - accessToken: Returns the token; called for each attempt. If it throws, the subscription ends with its error.
  ///   - reconnect: The policy for the delay before each reconnection, and for when to give up.
  ///   - options: The options of the subscription. Defaults to ``EventSourceOptions``.
  @_disfavoredOverload
  public nonisolated func events<T: NetworkRequest>(
    _ request: T, accessToken: @escaping @Sendable () async throws -> String?,
    reconnect: EventReconnectPolicy = EventReconnectPolicy(), options: EventSourceOptions = EventSourceOptions()
  ) -> EventSource<T> {
    eventSource(request, reconnect, options) { AccessToken(accessToken) }
  }

  /// Sends a request and writes the body of its response to a file, with a token that is obtained asynchronously. See
  /// `download(_:to:accessToken:options:)` for everything else.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - destination: The file URL of the destination. Its folder must exist.
  ///   - accessToken: Returns the token; called for each attempt. Nothing is sent if it throws, and its error is thrown.
  ///   - options: The options for the file system.
  @_disfavoredOverload
  @discardableResult
  public nonisolated(nonsending) func download<T: NetworkRequest>(
    _ request: T, to destination: URL, accessToken: @escaping @Sendable () async throws -> String?,
    options: DownloadOptions = DownloadOptions()
  ) async throws -> DownloadedFile {
    let token = AccessToken(accessToken)
    return try await runner(over: transport, token: token.renewal).download(
      request, to: destination, options: options, baseURL: baseURL, accessToken: token.read)
  }

  /// Uploads a file so that an interruption does not start it from the beginning, with a token that is obtained asynchronously.
  /// See `upload(_:fromFile:accessToken:options:)` for everything else.
  ///
  /// - Parameters:
  ///   - request: The request that creates the upload.
  ///   - file: The file URL of the file, which must not change meanwhile.
  ///   - accessToken: Returns the token; called for each attempt. If it throws, no attempt follows, and its error is thrown; the
  ///     upload can then be resumed as after any interruption.
  ///   - options: The protocol, and where the upload is remembered.
  @_disfavoredOverload
  @discardableResult
  public nonisolated(nonsending) func upload<T: NetworkRequest>(
    _ request: T, fromFile file: URL, accessToken: @escaping @Sendable () async throws -> String?,
    options: UploadOptions
  ) async throws -> UploadedFile {
    let token = AccessToken(accessToken)
    return try await runner(over: transport, token: token.renewal).upload(
      request, from: file, options: options, baseURL: baseURL, accessToken: token.read)
  }

  /// Cancels an upload that ``UploadOptions/state`` remembers, with a token that is obtained asynchronously. See
  /// `cancelUpload(_:accessToken:options:)` for everything else.
  ///
  /// - Parameters:
  ///   - request: The request that has created the upload.
  ///   - accessToken: Returns the token; called for each attempt. Nothing is sent if it throws, and its error is thrown.
  ///   - options: Those of the upload.
  @_disfavoredOverload
  @discardableResult
  public nonisolated(nonsending) func cancelUpload<T: NetworkRequest>(
    _ request: T, accessToken: @escaping @Sendable () async throws -> String?, options: UploadOptions
  ) async throws -> Bool {
    let token = AccessToken(accessToken)
    return try await runner(over: transport, token: token.renewal).cancelUpload(
      request, options: options, baseURL: baseURL, accessToken: token.read)
  }
}
