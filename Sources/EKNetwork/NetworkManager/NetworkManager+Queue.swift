import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkManager {
  /// Keeps a request in ``offlineQueue`` until it can be sent. Its response is not decoded, and no caller waits for it.
  ///
  /// The request is built now, with the base URL of the moment and without a token, which is asked for when it is sent:
  /// by the `accessToken` of ``PrismQueueDelivery/manager(_:accessToken:)``. Its retry policy is not used: the queue has
  /// its own. Neither is what it says of the response, whose body is read and not kept.
  ///
  /// - Parameters:
  ///   - request: What to send.
  ///   - priority: Requests of a higher priority go first. Defaults to 0.
  /// - Returns: The request as it waits, with its ``PrismQueuedRequest/id``.
  /// - Throws: ``PrismOfflineQueueError``; what building the request throws, as `send` does.
  @discardableResult
  public nonisolated(nonsending) func enqueue<T: NetworkRequest>(
    _ request: T, priority: Int = 0
  ) async throws -> PrismQueuedRequest {
    guard let queue = offlineQueue else { throw PrismOfflineQueueError.noQueue }
    let urlRequest = try RequestBuilder.build(
      request, baseURL: baseURL(), accessToken: nil, userAgent: userAgentConfiguration?.generateUserAgentString(),
      accept: transport.sessionSettings.adds("accept") ? nil : RequestBuilder.json)
    var queued = PrismQueuedRequest(urlRequest: urlRequest, priority: priority)
    queued.redirectPolicy = request.redirectPolicy
    try await queue.enqueue(queued, body: .ofRequest)
    return queued
  }

  /// Sends what was queued.
  nonisolated func deliver(_ queued: PrismQueuedRequest, accessToken: (@Sendable () -> String?)?) async throws {
    guard let url = queued.urlRequest.url else { throw NetworkError.invalidURL }
    let request = QueuedNetworkRequest(queued)
    let runner = runner(over: transport)
    // What a NetworkRequest cannot say: whose cookies go with it, which networks it may use, and the like.
    let before = URLRequest(url: url)
    var after = before
    after.httpShouldHandleCookies = queued.urlRequest.httpShouldHandleCookies
    RequestOptions(queued.urlRequest).apply(to: &after)
    let response = try await runner.stream(
      ChangedAttempts(
        source: runner.source(request, { url }, accessToken), changes: RequestChanges(from: before, to: after)),
      over: runner.exchange(for: request, progress: nil, log: runner.log(request.methodName)),
      collectsBody: true, reportsUnread: false)
    // A server that breaks off may not have done what it was about to: the request is sent again.
    while try await response.body.next() != nil {}
  }
}

extension PrismQueueDelivery {
  /// Through a manager, one request at a time, with its token refresh; a status outside 2xx is a failure.
  ///
  /// - Parameters:
  ///   - manager: Sends the requests. Its base URL is not used: a queued request has its own.
  ///   - accessToken: Gives the token for `Authorization: Bearer …`, asked when a request is sent. Defaults to `nil`.
  public static func manager(
    _ manager: NetworkManager, accessToken: (@Sendable () -> String?)? = nil
  ) -> PrismQueueDelivery {
    .each { try await manager.deliver($0, accessToken: accessToken) }
  }
}

/// A request that was built before, to be sent to its own URL.
private struct QueuedNetworkRequest: NetworkRequest {
  typealias Response = EmptyResponse

  let urlRequest: URLRequest
  let path = ""
  let method: HTTPMethod
  let methodName: String
  let headers: [String: String]?
  let redirectPolicy: RedirectPolicy

  init(_ queued: PrismQueuedRequest) {
    urlRequest = queued.urlRequest
    redirectPolicy = queued.redirectPolicy
    methodName = urlRequest.httpMethod ?? "GET"
    // One that is not among those of the API may do anything: it is not repeated.
    method = HTTPMethod(rawValue: methodName) ?? .post
    headers = urlRequest.allHTTPHeaderFields
  }

  var body: RequestBody? {
    let contentType = urlRequest.value(forHTTPHeaderField: "Content-Type") ?? ""
    if let data = urlRequest.httpBody { return RequestBody(data: data, contentType: contentType) }
    guard let stream = urlRequest.httpBodyStream as? BodyInputStream else { return nil }
    return RequestBody(replayable: stream.source, contentType: contentType)
  }

  var timeout: Duration? {
    // 60 is what a request starts with, and stands for the session's own timeout.
    switch urlRequest.timeoutInterval {
    case 60: nil
    case .infinity: .clamped(seconds: .infinity)
    case let seconds: Duration(timeInterval: seconds)
    }
  }
}
