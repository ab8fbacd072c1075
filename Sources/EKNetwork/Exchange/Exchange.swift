import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One attempt of a request, with the redirects that it runs into. What is kept out of its frames is so for
/// ``RequestRunner``'s reason.
struct Exchange: Sendable {
  var transport: any Transport
  var redirectPolicy = RedirectPolicy.follow
  /// What the request says of itself; `nil` leaves it to the method.
  var isIdempotent: Bool?
  /// The method of which it says so; `nil`: any.
  var method: String?
  var cacheMode = CacheMode.default
  var decodesContent = true
  var limits = ResponseLimits()
  var progress: ProgressReporter?
  /// Called with the body bytes sent so far, instead of what `progress` receives.
  var onSend: (@Sendable (_ sent: Int64, _ total: Int64?) -> Void)?
  var log: RequestLog?
  /// Whether middleware around the call has led to another origin, which gets no credentials of the session.
  var hasLeftOrigin = false
  /// Where identical safe exchanges find each other; `nil`: each is sent.
  var shared: SharedFlights<ExchangeKey>?

  /// The request as its first hop sends it.
  @inline(never)
  func hop(_ urlRequest: URLRequest) throws -> HopRequest {
    try HopRequest(urlRequest, session: transport.sessionSettings, hasLeftOrigin: hasLeftOrigin)
  }

  /// The final response to a request that has no hop yet, with its body.
  func load(_ urlRequest: URLRequest) async throws -> CollectedResponse { try await load(try hop(urlRequest)) }

  /// The final response, with its body. What its status means is not looked at here.
  func load(_ hop: HopRequest) async throws -> CollectedResponse {
    guard let shared else { return try await loadAlone(hop) }
    // A request whose progress is watched is not shared.
    guard progress == nil,
      let key = ExchangeKey(
        hop, redirectPolicy: redirectPolicy, limits: limits, decodesContent: decodesContent, cacheMode: cacheMode)
    else {
      // Who has changed something must not be given a response from before.
      defer { if !ExchangeKey.isSafe(hop.urlRequest) { shared.seal() } }
      return try await loadAlone(hop)
    }
    return try await shared.run(key) { try await loadAlone(hop) }
  }

  /// What an error's status means does not depend on a body that is too long, or that breaks off.
  @inline(never)
  private func loadAlone(_ hop: HopRequest) async throws -> CollectedResponse {
    let response = try await open(hop, collectsBody: true)
    do { return try await response.collect() } catch {
      guard response.head.isError, !error.isCancellation else { throw error }
      return CollectedResponse(head: response.head, data: Data(), unread: error)
    }
  }

  /// The final response as `URLSession.data(for:)` has it: one whose body breaks off is an error, whatever its status.
  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    let response = try await load(request)
    if let unread = response.unread { throw unread }
    return (response.data, response.head.urlResponse)
  }

  /// The final response as soon as its head is there.
  ///
  /// - Parameter collectsBody: Whether the caller is going to pull the body to its end at once.
  func open(_ urlRequest: URLRequest, collectsBody: Bool) async throws -> TransportResponse {
    guard let shared, !ExchangeKey.isSafe(urlRequest) else {
      return try await open(try hop(urlRequest), collectsBody: collectsBody)
    }
    defer { shared.seal() }
    var response = try await open(try hop(urlRequest), collectsBody: collectsBody)
    // What the request changes may be done when its response has ended.
    response.body = SealingBody(response.body, shared)
    return response
  }

  /// The same for a first hop that was made with ``hop(_:)``.
  @inline(never)
  func open(_ hop: HopRequest, collectsBody: Bool) async throws -> TransportResponse {
    let session = transport.sessionSettings
    var redirects = RedirectState(
      policy: transport.resolvesRedirects ? .reject : redirectPolicy, hasLeftOrigin: hasLeftOrigin)
    var request = TransportRequest(hop)
    request.deadline = transport.resourceTimeout.map { .now + $0 }
    request.collectsBody = collectsBody
    // Middleware around the call may have changed the method.
    request.isIdempotent = method == nil || method == hop.urlRequest.httpMethod ? isIdempotent : nil
    request.cacheMode = cacheMode
    request.decodesContent = decodesContent
    request.maximumInflation = limits.inflation
    request.wantsTimings = log?.wantsTimings ?? false
    request.onSend = onSend ?? progress?.onSend
    request.onReceive = progress?.onReceive
    while true {
      var response = try await transport.start(request)
      if response.head.statusCode == 417, let own = request.hop.own.withoutExpectation {
        // RFC 9110 §15.5.18: it is the expectation that was refused, not the request.
        try await response.drain()
        request.hop = try HopRequest(
          own, session: session, hasLeftOrigin: redirects.hasLeftOrigin,
          start: request.hop.isRedirected ? hop.own.url : nil)
        continue
      }
      switch redirects.received(response.head, for: request.hop, decision: response.redirect) {
      case .deliver:
        response.head.isFromOtherOrigin = redirects.hasLeftOrigin
        return try limits.applied(to: response, of: request.urlRequest)
      case .fail(let error):
        response.body.cancel()
        throw error
      case .follow(let next):
        try await response.drain()
        if let status = response.head.statusCode, let url = next.url { log?.redirected(status: status, to: url) }
        // What the request says of itself it says of its own method.
        if next.httpMethod != request.hop.own.httpMethod { request.isIdempotent = nil }
        request.hop = try HopRequest(
          next, session: session, hasLeftOrigin: redirects.hasLeftOrigin, start: hop.own.url)
      }
    }
  }
}

extension URLRequest {
  /// The request without `Expect`. `nil` when there is none, or no body left to send.
  fileprivate var withoutExpectation: URLRequest? {
    guard bodyIsReplayable, value(forHTTPHeaderField: "Expect") != nil else { return nil }
    var request = self
    request.setValue(nil, forHTTPHeaderField: "Expect")
    return request
  }
}
