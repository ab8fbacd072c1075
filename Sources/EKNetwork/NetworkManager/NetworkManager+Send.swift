import Foundation

// Which function a call uses depends on whether the request may be decoded elsewhere. The two are in an extension of the
// protocol, where only the one in the type below can implement `send(_:accessToken:)` of a protocol, also of the user's
// own: two in the type would be ambiguous. The compiler compares them only with each other, because that one is
// disfavored.
extension NetworkManaging where Self == NetworkManager {
  /// Sends a request and decodes its response, away from the caller's actor. On that only the request's own code runs, such
  /// as an ``NetworkRequest/emptyResponseHandler`` or a `decodeResponse` that it implements.
  ///
  /// - Parameters:
  ///   - request: The request to send. It is read on the caller's actor, once for each attempt.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt, so that an attempt
  ///     after a refresh uses the new token. Defaults to `nil`.
  /// - Returns: The decoded response of the first attempt that succeeds.
  /// - Throws: `URLError` from the transport, ``HTTPError`` or the request's own error for a response outside 2xx,
  ///   ``NetworkError``, ``InvalidHeaderError``, or the errors of encoding and decoding. `CancellationError` at once
  ///   when the task is cancelled, whatever it is waiting for, except an injected session that ignores the cancellation.
  public nonisolated(nonsending) func send<T: NetworkRequest & SendableMetatype>(
    _ request: T, accessToken: (() -> String?)? = nil
  ) async throws -> T.Response where T.Response: SendableMetatype {
    let manager: NetworkManager = self
    return try await manager.sendAndDecodeElsewhere(request, AccessToken(accessToken)).value
  }

  /// Sends a request whose response may be unused, otherwise like the function above.
  @discardableResult
  public nonisolated(nonsending) func send<T: NetworkRequest & SendableMetatype>(
    _ request: T, accessToken: (() -> String?)? = nil
  ) async throws -> T.Response where T.Response: DiscardableResponse & SendableMetatype {
    let manager: NetworkManager = self
    return try await manager.sendAndDecodeElsewhere(request, AccessToken(accessToken)).value
  }

  /// Sends a request whose conformance may be isolated to an actor, as all are in a module that is main-actor isolated
  /// by default: the response is decoded on the caller's actor.
  public nonisolated(nonsending) func send<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil
  ) async throws -> T.Response {
    let manager: any NetworkManaging = self
    return try await manager.send(request, accessToken: accessToken)
  }

  /// Sends a request whose conformance may be isolated to an actor, and whose response may be unused.
  @discardableResult
  public nonisolated(nonsending) func send<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil
  ) async throws -> T.Response where T.Response: DiscardableResponse {
    let manager: any NetworkManaging = self
    return try await manager.send(request, accessToken: accessToken)
  }
}

extension NetworkManager: NetworkManaging {
  /// Sends a request through a protocol: the response is decoded on the caller's actor.
  @_disfavoredOverload
  public nonisolated(nonsending) func send<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil
  ) async throws -> T.Response {
    let decoder = responseDecoder(for: request)
    let response = try await load(request, AccessToken(accessToken))
    return try decoder.decode(request, response)
  }

  /// Sends a request and decodes its response away from the caller's actor. Inlined, because a waiting request keeps the
  /// frames of all functions.
  @inline(__always)
  nonisolated(nonsending) func sendAndDecodeElsewhere<T: NetworkRequest & SendableMetatype>(
    _ request: T, _ token: AccessToken
  ) async throws -> (value: T.Response, head: ResponseHead) where T.Response: SendableMetatype {
    // Read before the request is sent, which keeps the settings that it started with.
    let decoder = responseDecoder(for: request)
    let response = try await load(request, token)
    // An actor that waits for this call may use the request meanwhile: no other thread uses anything of it.
    let json: JSONDecoder
    if let decoder = decoder.jsonDecoder(for: request, response) {
      json = decoder
    } else {
      do {
        return (try DefaultDecoding.asking(T.self) { try decoder.decode(request, response) }, response.head)
      } catch let found as DefaultDecoding.IsUsed {
        json = found.decoder
      }
    }
    do {
      return (try await Self.decodeElsewhere(T.Response.self, response.data, json).value, response.head)
    } catch let error as DecodingError {
      throw ResponseDecoding.describe(error, of: request, response.data, response.head.urlResponse)
    }
  }

  nonisolated(nonsending) func load<T: NetworkRequest>(
    _ request: T, _ token: AccessToken
  ) async throws -> CollectedResponse {
    try await runner(over: transport, token: token.renewal).fetch(
      request, baseURL: baseURL, accessToken: token.read
    ).response
  }

  /// Sends a request, and returns the decoded response with its head: everything else is as for `send`.
  ///
  /// ```swift
  /// let page = try await manager.decodedResponse(to: ListUsers(page: 1))
  /// print(page.value.count, page.value(forHTTPHeaderField: "X-Total-Count") ?? "", page.link("next") as Any)
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request to send. It is read on the caller's actor, once for each attempt.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt. Defaults to `nil`.
  /// - Throws: What `send` throws.
  public nonisolated(nonsending) func decodedResponse<T: NetworkRequest & SendableMetatype>(
    to request: T, accessToken: (() -> String?)? = nil
  ) async throws -> DecodedResponse<T.Response> where T.Response: SendableMetatype {
    let (value, head) = try await sendAndDecodeElsewhere(request, AccessToken(accessToken))
    return DecodedResponse(value, head)
  }

  /// Sends a request whose conformance may be isolated to an actor: the response is decoded on the caller's actor.
  public nonisolated(nonsending) func decodedResponse<T: NetworkRequest>(
    to request: T, accessToken: (() -> String?)? = nil
  ) async throws -> DecodedResponse<T.Response> {
    let decoder = responseDecoder(for: request)
    let response = try await load(request, AccessToken(accessToken))
    return DecodedResponse(try decoder.decode(request, response), response.head)
  }

  /// Sends a request and returns its response as it was received: whatever its status, unless another set is accepted.
  ///
  /// The request is built, redirected and retried as for `send`, and a 401 refreshes the token first; the request's
  /// `Response`, its decoders and its ``NetworkRequest/acceptedStatuses`` are not used. A response whose status is
  /// accepted is not retried. Its body must be complete.
  ///
  /// ```swift
  /// let response = try await manager.response(to: GetUser(id: "42"))
  /// if response.statusCode == 404 { return nil }
  /// let cookies = response.values(for: "Set-Cookie")
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request to send. It is read on the caller's actor, once for each attempt.
  ///   - statuses: The statuses of which a response is returned; every other one is thrown as an error, as `send` does.
  ///     Defaults to ``StatusCodes/any``.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt. Defaults to `nil`.
  /// - Throws: What `send` throws, except the errors of decoding.
  public nonisolated(nonsending) func response<T: NetworkRequest>(
    to request: T, accepting statuses: StatusCodes = .any, accessToken: (() -> String?)? = nil
  ) async throws -> NetworkResponse {
    try await response(to: request, accepting: statuses, AccessToken(accessToken))
  }

  nonisolated(nonsending) func response<T: NetworkRequest>(
    to request: T, accepting statuses: StatusCodes, _ token: AccessToken
  ) async throws -> NetworkResponse {
    let response = try await runner(over: transport, token: token.renewal).fetch(
      request, accepting: statuses, baseURL: baseURL, accessToken: token.read
    ).response
    // A type that ignores its content also accepts one that cannot be decoded.
    if let error = response.readError { throw error }
    return NetworkResponse(response)
  }

  /// Returns a runner for one request, with the current settings.
  ///
  /// - Parameters:
  ///   - lookup: The lookup of the call's policy behind the middleware; `nil` if there is none. What it finds is
  ///     not for requests with another policy.
  ///   - token: The token of the call, if it is obtained asynchronously.
  nonisolated func runner(
    over transport: any Transport, lookup: PolicyLookup? = nil, token: AsyncToken? = nil
  ) -> RequestRunner {
    let settings = settings.withLock { $0 }
    return RequestRunner(
      transport: settings.transport(over: transport, owner: middlewareOwner, lookup: lookup),
      tokens: tokens, refresher: settings.tokenRefresher,
      userAgent: settings.userAgentConfiguration?.generateUserAgentString(), clock: clock, logger: logger,
      eventHandler: settings.eventHandler,
      shared: settings.sharesExchanges && lookup == nil ? sharedExchanges : nil,
      token: token, defaults: settings.defaults, middleware: settings.middleware)
  }

  nonisolated var hasMiddleware: Bool { settings.withLock { $0.hasMiddleware } }

  nonisolated func responseDecoder<T: NetworkRequest>(for request: T) -> ResponseDecoder {
    let (provider, defaults) = settings.withLock { ($0.responseDecoderProvider, $0.defaults) }
    return ResponseDecoder(
      provider: request.allowsResponseDecoderOverride ? provider : nil, defaults: defaults)
  }

  @concurrent
  static func decodeElsewhere<Value: Decodable & SendableMetatype>(
    _ type: Value.Type, _ data: Data, _ decoder: JSONDecoder
  ) async throws -> Decoded<Value> {
    Decoded(value: try decoder.decode(type, from: data))
  }

  /// Sendable, unchecked: created off the caller's actor, passed to the caller, and not kept.
  struct Decoded<Value>: @unchecked Sendable {
    let value: Value
  }
}

extension NetworkManager {
  /// Returns the curl command line for a request, as `send` would build it, without sending anything. What a session
  /// adds, such as cookies and its `httpAdditionalHeaders`, is not included.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`. Defaults to `nil`.
  ///   - revealingSecrets: Whether credentials, the values of query items and the body are included. Defaults to
  ///     `false`.
  /// - Throws: The errors of building the request, as `send` does.
  public nonisolated func curlCommand<T: NetworkRequest>(
    for request: T, accessToken: (() -> String?)? = nil, revealingSecrets: Bool = false
  ) throws -> String {
    try runner(over: transport).source(request, baseURL, accessToken).build()
      .urlRequest.curlCommand(revealingSecrets: revealingSecrets)
  }
}

/// What decodes the responses of one request, as the client was set when it started.
struct ResponseDecoder {
  let provider: (() -> JSONDecoder)?
  let defaults: ClientDefaults?

  func decode<T: NetworkRequest>(_ request: T, _ response: CollectedResponse) throws -> T.Response {
    try defaults.reading { try read(request, response) }
  }

  /// Returns what decodes a response, if it is certain that nothing else of the request takes part in that.
  func jsonDecoder<T: NetworkRequest>(for request: T, _ response: CollectedResponse) -> JSONDecoder? {
    guard response.readError == nil, ResponseDecoding.needsDecoder(T.Response.self, response.data),
      provider != nil || DefaultDecoding.isUsed(by: T.self)
    else { return nil }
    return provider?() ?? defaults.reading { request.jsonDecoder }
  }

  private func read<T: NetworkRequest>(_ request: T, _ response: CollectedResponse) throws -> T.Response {
    if let error = response.readError { return try withoutContent(request, response, because: error) }
    if provider == nil, !DefaultDecoding.isUsed(by: T.self) {
      return try request.decodeResponse(data: response.data, response: response.head.urlResponse)
    }
    return try ResponseDecoding.decode(
      request, data: response.data, response: response.head.urlResponse, decoder: provider?())
  }

  /// The content could not be decoded, which matters unless the type ignores it. A `decodeResponse` of the request's own
  /// does not: it must not take it for empty.
  @inline(never)
  private func withoutContent<T: NetworkRequest>(
    _ request: T, _ response: CollectedResponse, because error: any Error
  ) throws -> T.Response {
    guard ResponseDecoding.ignoresContent(T.self),
      let value = try? request.decodeResponse(data: Data(), response: response.head.urlResponse),
      DefaultDecoding.isUsed(by: T.self)
    else { throw error }
    return value
  }
}
