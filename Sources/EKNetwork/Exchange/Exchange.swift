import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One attempt of a request, with the redirects that it runs into.
struct Exchange: Sendable {
  let transport: any Transport
  var redirectPolicy = RedirectPolicy.follow
  /// What the request says of itself; `nil` leaves it to the method.
  var isIdempotent: Bool?
  var limits = ResponseLimits()
  var progress: ProgressReporter?
  /// Called with the body bytes sent so far, in the place of what `progress` is told.
  var onSend: (@Sendable (_ sent: Int64, _ total: Int64?) -> Void)?
  var log: RequestLog?
  /// Where identical safe exchanges find each other; `nil`: each is sent.
  var shared: SharedFlights<ExchangeKey>?

  /// The final response, with its body. What its status means is not looked at here.
  func load(_ urlRequest: URLRequest) async throws -> FetchedResponse {
    guard let shared else { return try await open(urlRequest, collectsBody: true).collect() }
    // What somebody watches is his own.
    guard progress == nil,
      let key = ExchangeKey(urlRequest, redirectPolicy: redirectPolicy, limits: limits)
    else {
      // Who has changed something must not be given a response from before.
      defer { if !ExchangeKey.isSafe(urlRequest) { shared.seal() } }
      return try await open(urlRequest, collectsBody: true).collect()
    }
    return try await shared.run(key) { try await open(urlRequest, collectsBody: true).collect() }
  }

  /// The final response as soon as its head is there.
  ///
  /// - Parameter collectsBody: Whether the caller is going to pull the body to its end at once.
  func open(_ urlRequest: URLRequest, collectsBody: Bool) async throws -> TransportResponse {
    var redirects = RedirectState(policy: transport.resolvesRedirects ? .reject : redirectPolicy)
    var request = TransportRequest(urlRequest)
    request.deadline = transport.resourceTimeout.map { .now + $0 }
    request.collectsBody = collectsBody
    request.isIdempotent = isIdempotent
    request.maximumInflation = limits.inflation
    request.wantsTimings = log?.wantsTimings ?? false
    request.onSend = onSend ?? progress?.onSend
    request.onReceive = progress?.onReceive
    while true {
      let response = try await transport.start(request)
      if response.head.statusCode == 417, request.urlRequest.dropsExpectation() {
        // RFC 9110 §15.5.18: it is the expectation that was refused, not the request.
        try await response.drain()
        continue
      }
      switch redirects.received(response.head, for: request.urlRequest, decision: response.redirect) {
      case .deliver: return try limits.applied(to: response, of: request.urlRequest)
      case .fail(let error):
        response.body.cancel()
        throw error
      case .follow(let next):
        try await response.drain()
        if let status = response.head.statusCode, let url = next.url { log?.redirected(status: status, to: url) }
        request.urlRequest = next
      }
    }
  }
}

extension URLRequest {
  /// Takes `Expect` away, so that the request can be sent without. `false` when there is none, or no body left to send.
  fileprivate mutating func dropsExpectation() -> Bool {
    guard bodyIsReplayable, value(forHTTPHeaderField: "Expect") != nil else { return false }
    setValue(nil, forHTTPHeaderField: "Expect")
    return true
  }
}
