import Foundation

/// A client that sends GraphQL operations over HTTP, and subscribes to them over WebSockets or server-sent events.
///
/// ```swift
/// struct Hero: Decodable, Sendable { let name: String }
/// struct Data: Decodable, Sendable { let hero: Hero? }
/// let query = PrismGraphQLQuery(query: "query($id: ID!) { hero(id: $id) { name } }", variables: ["id": "1"])
/// let response: PrismGraphQLResponse<Data> = try await client.execute(query)
/// ```
///
/// Incremental delivery (`@defer`, `@stream`) is not supported: do not use it in operations.
public actor PrismGraphQLClient {
  nonisolated let endpointURL: URL
  nonisolated let manager: NetworkManager
  nonisolated let additionalHeaders: [String: String]
  nonisolated let options: PrismGraphQLOptions
  /// Whether the server has reported that it does not support persisted queries.
  private nonisolated let refusesHashes = Locked(false)

  /// Creates a client for one endpoint.
  ///
  /// - Parameters:
  ///   - endpointURL: The URL that operations are sent to.
  ///   - session: The session that sends the requests. Defaults to `URLSession.shared`.
  ///   - additionalHeaders: Header fields for every request and every WebSocket handshake. Defaults to none.
  public init(endpointURL: URL, session: URLSession = .shared, additionalHeaders: [String: String] = [:]) {
    self.init(
      endpointURL: endpointURL, manager: NetworkManager(baseURL: endpointURL, session: session),
      additionalHeaders: additionalHeaders)
  }

  /// Creates a client that sends its requests through a manager: with its token refresh, its log and its events.
  ///
  /// - Parameters:
  ///   - endpointURL: The URL that operations are sent to. The manager's base URL is not used.
  ///   - manager: The manager that sends the requests.
  ///   - additionalHeaders: Header fields for every request and every WebSocket handshake. Defaults to none.
  ///   - options: The options of the client.
  public init(
    endpointURL: URL, manager: NetworkManager, additionalHeaders: [String: String] = [:],
    options: PrismGraphQLOptions = PrismGraphQLOptions()
  ) {
    self.endpointURL = endpointURL
    self.manager = manager
    self.additionalHeaders = additionalHeaders
    self.options = options
  }

  /// Sends a query or a mutation.
  ///
  /// - Returns: The response of the server. Errors of the operation are part of the response and not thrown, even if
  ///   the status is an error (GraphQL over HTTP §6.4.2).
  /// - Throws: ``PrismNetworkError`` for a response that is not a GraphQL response, its cause in
  ///   ``PrismNetworkFailure``; `CancellationError`.
  public nonisolated func execute<T: Decodable & Sendable>(
    _ query: PrismGraphQLQuery
  ) async throws -> PrismGraphQLResponse<T> {
    let wasCarriedOut = Locked(false)
    /// Only a query can be sent again whatever has happened to it (§6.2 of GraphQL).
    func isIdempotent() -> Bool { GraphQLDocument.kind(of: query.query, operationName: query.operationName) == .query }
    return try await PrismNetworkFailure.surfacing {
      do {
        let received: Received<T> = try await load(query, wasCarriedOut)
        PrismNetworkFailure.recordEnd(
          received.repeatability(isIdempotent: isIdempotent(), wasCarriedOut: wasCarriedOut.withLock { $0 }))
        return received.response
      } catch {
        let error = failure(error)
        guard var failure = error as? PrismNetworkFailure else { throw error }
        failure.repeatability = Repeatability(
          after: failure, isIdempotent: isIdempotent(), wasCarriedOut: wasCarriedOut.withLock { $0 })
        throw failure
      }
    }
  }

  /// - Parameter wasCarriedOut: Set when a redirect changes the method, because the operation was carried out.
  private nonisolated func load<T: Decodable & Sendable>(
    _ query: PrismGraphQLQuery, _ wasCarriedOut: Locked<Bool>
  ) async throws -> Received<T> {
    guard options.usesPersistedQueries, !refusesHashes.withLock({ $0 }) else {
      return try await send(query, wasCarriedOut)
    }
    let hash = SHA256.hexadecimal(Array(query.query.utf8))
    let received: Received<T> = try await send(query, wasCarriedOut, sendsDocument: false, hash: hash)
    if received.response.isRefused("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED") {
      refusesHashes.withLock { $0 = true }
      return try await send(query, wasCarriedOut)
    }
    guard received.response.isRefused("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND") else { return received }
    return try await send(query, wasCarriedOut, hash: hash)
  }

  /// Returns a runner for one request. The defaults of the manager are for its own requests, and its base URL.
  nonisolated func runner(over transport: any Transport, _ token: AccessToken) -> RequestRunner {
    var runner = manager.runner(over: transport, token: token.renewal)
    runner.refreshFailed = Locked(false)
    runner.defaults = nil
    return runner
  }

  private nonisolated func send<T: Decodable & Sendable>(
    _ query: PrismGraphQLQuery, _ wasCarriedOut: Locked<Bool>, sendsDocument: Bool = true, hash: String? = nil
  ) async throws -> Received<T> {
    let request = try GraphQLHTTPRequest(
      query, sendsDocument: sendsDocument, hash: hash,
      accept: "\(GraphQLHTTPRequest.responseType), application/json;q=0.9", headers: additionalHeaders,
      options: options)
    let token = options.token
    let runner = runner(over: manager.transport, token)
    do {
      try Task.checkCancellation()
      let endpointURL = endpointURL
      var exchange = runner.exchange(for: request, progress: nil, log: runner.log(request.methodName))
      exchange.wasCarriedOut = wasCarriedOut
      // The response to an operation says more about its end than the status.
      exchange.recordsEnds = false
      defer { exchange.recordHidden() }
      let fetched = try await runner.fetch(
        runner.source(request, { endpointURL }, token.read), policy: request.retryPolicy, over: exchange)
      do { return Received(response: try decode(fetched.response.data)) } catch let error as DecodingError {
        guard let http = fetched.response.head.urlResponse as? HTTPURLResponse else { throw error }
        throw error.about(http, data: fetched.response.data, method: request.methodName)
      }
    } catch let error as HTTPError where !runner.hasTokenFailed {
      return Received(response: try decode(error), errorStatus: error.statusCode)
    }
  }

  nonisolated func decode<T: Decodable & Sendable>(_ data: Data) throws -> PrismGraphQLResponse<T> {
    try options.makeDecoder().decode(PrismGraphQLResponse<T>.self, from: data)
  }

  /// Returns the GraphQL response in a response whose status is an error, or throws the error if it contains none. A
  /// `graphql-response+json` is one whatever the status (GraphQL over HTTP §6.4.2). Older servers send JSON with a 4xx
  /// status; since that may come from an intermediary, it counts only with errors and without data.
  nonisolated func decode<T: Decodable & Sendable>(_ error: HTTPError) throws -> PrismGraphQLResponse<T> {
    let type = error.value(forHTTPHeaderField: "Content-Type")?.mediaType
    if type == GraphQLHTTPRequest.responseType, let response: PrismGraphQLResponse<T> = try? decode(error.data) {
      return response
    }
    guard type == "application/json", (400..<500).contains(error.statusCode),
      let response: PrismGraphQLResponse<T> = try? decode(error.data), response.data == nil,
      let errors = response.errors, !errors.isEmpty, errors.allSatisfy({ !$0.message.isEmpty })
    else { throw error }
    return response
  }

  nonisolated func failure(_ error: any Error) -> any Error {
    switch error {
    case _ where error.isCancellationOfTask: CancellationError()
    // Cancelling a task that waits for a message ends the connection: what it sends after that message fails.
    case is WebSocketError where Task.isCancelled: CancellationError()
    case is EncodingError, is InvalidHeaderError: PrismNetworkFailure(.badRequest, because: error, url: endpointURL)
    case is PrismGraphQLSubscriptionError: error
    default: PrismNetworkFailure(causedBy: error, url: endpointURL)
    }
  }
}

/// The response to an operation as it was received.
private struct Received<T: Decodable & Sendable>: Sendable {
  let response: PrismGraphQLResponse<T>
  /// Its status, if that is an error.
  var errorStatus: Int?

  /// Returns whether the operation may be sent again. Its execution begins with the entry for the data, which may be `null`
  /// (GraphQL §7.1); before, the status says what it says for any request.
  func repeatability(isIdempotent: Bool, wasCarriedOut: Bool) -> Repeatability {
    guard let errorStatus, !response.hasDataEntry, response.requestErrors != nil else {
      return .completed(isIdempotent: isIdempotent)
    }
    return Repeatability(status: errorStatus, isIdempotent: isIdempotent, wasCarriedOut: wasCarriedOut)
  }
}

extension PrismGraphQLResponse {
  /// The errors with which the request was refused. An error of a field, which may be that of a server behind the server,
  /// belongs to a request that was carried out (GraphQL §7.1.2).
  fileprivate var requestErrors: [PrismGraphQLError]? {
    errors.flatMap { errors in errors.allSatisfy { $0.pathElements == nil } ? errors : nil }
  }

  /// Returns whether the request was refused with an error that has this message or code. Data is the result of a request
  /// that was carried out, whatever stands beside it; `null` is not, because many servers write it into every response.
  fileprivate func isRefused(_ message: String, _ code: String) -> Bool {
    guard !hasData, let requestErrors else { return false }
    return requestErrors.contains { $0.message == message || $0.extensions?["code"]?.stringValue == code }
  }
}

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
