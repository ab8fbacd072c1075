import Foundation

extension NetworkManager {
  /// Adds a request to ``offlineQueue``, which keeps it until it can be sent. Its response is not decoded and not
  /// returned.
  ///
  /// The request is built at once, with the current base URL and without a token. The token is read when the request is
  /// sent, from the `accessToken` of `PrismQueueDelivery.manager(_:accessToken:)`. The request's retry policy is not
  /// used, because the queue has its own. Its settings for the response and its `totalTimeout` are not used either: the
  /// head of a 2xx response delivers the request, and the body is discarded. No stored response does: the request is sent
  /// as if its ``NetworkRequest/cacheMode`` were ``CacheMode/reload``.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - priority: The priority; requests with a higher priority are sent first. Defaults to 0.
  /// - Returns: The queued request, with its ``PrismQueuedRequest/id``.
  /// - Throws: ``PrismOfflineQueueError``; ``TransportOptionError`` for a request with a
  ///   ``NetworkRequest/credential``, because no queue keeps passwords; the errors of building the request, as `send` does.
  @discardableResult
  public nonisolated(nonsending) func enqueue<T: NetworkRequest>(
    _ request: T, priority: Int = 0
  ) async throws -> PrismQueuedRequest {
    guard let queue = offlineQueue else { throw PrismOfflineQueueError.noQueue }
    guard request.credential == nil else {
      throw TransportOptionError(option: "credential", library: "An offline queue")
    }
    let defaults = clientDefaults
    // Its token, and the client's header fields, are added when it is sent.
    let later = { (name: String) in defaults?.values.headers?.field(name) != nil }
    let built = try defaults.reading {
      try RequestBuilder.build(
        request, baseURL: baseURL(), accessToken: nil,
        userAgent: later("User-Agent") ? nil : userAgentConfiguration?.generateUserAgentString(),
        accept: later("Accept") || transport.sessionSettings.adds("accept") ? nil : RequestBuilder.json)
    }
    // They are meant for the base URL.
    guard !RequestBuilder.leavesOrigin(request.targetURL, baseURL: baseURL()) else { throw NetworkError.invalidURL }
    var queued = PrismQueuedRequest(urlRequest: built.urlRequest, priority: priority)
    queued.fieldNames = built.fields.map(\.name)
    queued.redirectPolicy = defaults.reading { request.redirectPolicy }
    try await queue.enqueue(queued, body: .ofRequest)
    return queued
  }

  nonisolated func deliver(_ queued: PrismQueuedRequest, _ token: AccessToken) async throws {
    guard let url = queued.urlRequest.url else { throw NetworkError.invalidURL }
    let request = QueuedNetworkRequest(queued)
    var runner = runner(over: transport, token: token.renewal)
    runner.refreshFailed = Locked(false)
    let source = runner.source(request, baseURL, token.read)
    let exchange = runner.exchange(for: request, baseURL: baseURL, progress: nil, log: runner.log(request.methodName))
    // The properties that a NetworkRequest lacks: whether cookies are sent, which networks are allowed, and the like.
    let before = URLRequest(url: url)
    var after = before
    after.httpShouldHandleCookies = queued.urlRequest.httpShouldHandleCookies
    RequestOptions(queued.urlRequest).apply(to: &after)
    do {
      try await runner.deliver(
        ChangedAttempts(source: source, changes: RequestChanges(from: before, to: after)), over: exchange)
    } catch {
      // Whatever it is, the server has not accepted or refused the request, which may be sent later with a new token.
      throw runner.hasTokenFailed ? TokenError(cause: error) : error
    }
  }
}

extension PrismQueueDelivery {
  /// Sends requests through a manager, one at a time, with its token refresh; a status outside 2xx is a failure. The
  /// body of a response is not decoded, so a request without an `Accept-Encoding` is sent with `identity`. If the refresh
  /// fails, the request remains in the queue whatever the error is, and has failed once more.
  ///
  /// - Parameters:
  ///   - manager: The manager that sends the requests. A queued request has a URL of its own; one of another origin than the
  ///     manager's base URL is sent without the token, the manager's default header fields, and the credentials of its
  ///     session.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called when a request is sent. Defaults to
  ///     `nil`.
  public static func manager(
    _ manager: NetworkManager, accessToken: (@Sendable () -> String?)? = nil
  ) -> PrismQueueDelivery {
    .each { try await manager.deliver($0, AccessToken(accessToken)) }
  }

  /// Sends requests through a manager, like `manager(_:accessToken:)`, with a token that is obtained
  /// asynchronously, from an actor for example.
  ///
  /// - Parameters:
  ///   - manager: The manager that sends the requests. A queued request has a URL of its own; one of another origin than the
  ///     manager's base URL is sent without the token, the manager's default header fields, and the credentials of its
  ///     session.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt. If it throws, the request
  ///     is not sent, remains in the queue whatever the error is, and has failed once more.
  @_disfavoredOverload
  public static func manager(
    _ manager: NetworkManager, accessToken: @escaping @Sendable () async throws -> String?
  ) -> PrismQueueDelivery {
    .each { try await manager.deliver($0, AccessToken(accessToken)) }
  }
}

/// A request that is already built, to be sent to its own URL.
private struct QueuedNetworkRequest: NetworkRequest {
  typealias Response = EmptyResponse

  let urlRequest: URLRequest
  let bodyFile: URL?
  let path = ""
  // Its origin is another one than the base URL's if the manager has not made it, or had another base URL then.
  var targetURL: URL? { urlRequest.url }
  let method: HTTPMethod
  let methodName: String
  let headerFields: HeaderFieldList?
  let redirectPolicy: RedirectPolicy
  let decodesContent = false
  // A stored response, of this client or of an intermediary, would count as the delivery of a request that was not sent.
  let cacheMode = CacheMode.reload
  // The queue decides by the status.
  let acceptedStatuses = StatusCodes.successful
  let errorDecoder: ((Data) -> Error?)? = nil
  let responseErrorDecoder: ((NetworkResponse) -> Error?)? = nil
  let maximumResponseSize: Int64? = nil
  // A request that takes longer would be cut off, and sent again, for ever; `timeout` detects a silent server.
  let totalTimeout: Duration? = nil

  init(_ queued: PrismQueuedRequest) {
    urlRequest = queued.urlRequest
    bodyFile = queued.bodyFile
    redirectPolicy = queued.redirectPolicy
    methodName = urlRequest.httpMethod ?? "GET"
    // An unknown method may do anything: it is not repeated.
    method = HTTPMethod(rawValue: methodName) ?? .post
    var fields = urlRequest.allHTTPHeaderFields ?? [:]
    // The body of an error response is not decoded either, but an `HTTPError` contains it.
    if fields.field("Accept-Encoding") == nil { fields["Accept-Encoding"] = "identity" }
    headerFields = HeaderFieldList(fields, inOrderOf: HeaderFieldList(queued.fieldNames.map { (name: $0, value: "") }))
  }

  var body: RequestBody? {
    let contentType = urlRequest.value(forHTTPHeaderField: "Content-Type") ?? ""
    if let bodyFile { return RequestBody(file: bodyFile, contentType: contentType) }
    if let data = urlRequest.httpBody { return RequestBody(data: data, contentType: contentType) }
    guard let stream = urlRequest.httpBodyStream as? BodyInputStream else { return nil }
    return RequestBody(source: stream.source, contentType: contentType)
  }

  var timeout: Duration? {
    // 60 is the default of a URLRequest, and stands for the session's own timeout.
    switch urlRequest.timeoutInterval {
    case 60: nil
    case .infinity: .clamped(seconds: .infinity)
    case let seconds: Duration(timeInterval: seconds)
    }
  }
}
