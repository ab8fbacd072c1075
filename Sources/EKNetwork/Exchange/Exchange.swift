import Foundation

/// One attempt of a request, including its redirects. Some functions are not inlined, for the reason given in
/// ``RequestRunner``.
struct Exchange: Sendable {
  var transport: any Transport
  var redirectPolicy = RedirectPolicy.follow
  /// The request's own idempotency; `nil` to infer it from the method.
  var isIdempotent: Bool?
  /// The method to which `isIdempotent` applies; `nil` for any.
  var method: String?
  /// The statuses of which a response is the result.
  var accepted = StatusCodes.successful
  var cacheMode = CacheMode.default
  var decodesContent = true
  /// Whether the body of a success is not used, so that it need not be decodable.
  var ignoresContent = false
  /// Whether the ends of its requests are recorded for the operation that the call is part of.
  var recordsEnds = true
  var limits = ResponseLimits()
  var progress: ProgressReporter?
  /// When the call as a whole has to be finished; `nil` for no limit.
  var deadline: ContinuousInstant?
  /// The closure called with the number of body bytes sent so far, instead of that of `progress`.
  var onSend: (@Sendable (_ sent: Int64, _ total: Int64?) -> Void)?
  var onInterim: InterimObserver?
  var log: RequestLog?
  /// Whether middleware around the call has changed the origin; another origin receives no credentials of the session.
  var hasLeftOrigin = false
  /// The user and the password for the request's origin; they are not for another to which `hasLeftOrigin` applies.
  var credential: PasswordCredential?
  /// The exchanges in flight that identical safe ones share; `nil` disables sharing.
  var shared: SharedFlights<ExchangeKey>?
  /// Set when a redirect changes the method, because the request was carried out (RFC 9110 §15.4.4); `nil` if it is not
  /// tracked.
  var wasCarriedOut: Locked<Bool>?
  /// Set when a request is started; `nil` if it is not tracked.
  var wasStarted: Locked<Bool>?

  /// Returns the request as it is sent in its first hop.
  @inline(never)
  func hop(_ request: HTTPRequest) throws -> HopRequest {
    try HopRequest(
      request, session: transport.sessionSettings, hasLeftOrigin: hasLeftOrigin,
      credential: hasLeftOrigin ? nil : credential)
  }

  /// Returns the final response to a request, with its body.
  func load(_ request: HTTPRequest) async throws -> CollectedResponse { try await load(try hop(request)) }

  /// Returns the final response, with its body. The status code is not evaluated here.
  func load(_ hop: HopRequest) async throws -> CollectedResponse {
    if let shared { try await load(hop, sharing: shared) } else { try await loadAlone(hop) }
  }

  @inline(never)
  private func load(_ hop: HopRequest, sharing shared: SharedFlights<ExchangeKey>) async throws -> CollectedResponse {
    // A request that observes its exchange is not shared, nor one that must not wait for another.
    guard progress == nil, onInterim == nil, deadline == nil,
      let key = ExchangeKey(
        hop, redirectPolicy: redirectPolicy, accepted: accepted, limits: limits, decodesContent: decodesContent,
        ignoresContent: ignoresContent, cacheMode: cacheMode)
    else {
      // After an unsafe request, callers must not share a response requested before it.
      defer { if !hop.sent.isSafe { shared.seal() } }
      return try await loadAlone(hop)
    }
    return try await shared.run(key) {
      var response = try await loadAlone(hop)
      // Whatever its status: a stored response may stand for a failure (RFC 5861 §4).
      response.end = ResponseEnd(
        timings: response.timings, trailers: response.end?.trailers ?? HeaderFieldList(),
        failure: FlightFailure().number)
      return response
    }
  }

  /// Loads the final response without sharing it; one that is not accepted, or a 401, is returned even if its body is too
  /// long or incomplete, and one whose content is ignored even if that cannot be decoded.
  @inline(never)
  private func loadAlone(_ hop: HopRequest) async throws -> CollectedResponse {
    let response = try await open(hop, collectsBody: true)
    guard readsBody(of: response.head) else {
      try await response.drain()
      return CollectedResponse(head: response.head, data: Data(), end: response.body.end)
    }
    do { return try await response.collect() } catch { return try unread(response.head, after: error) }
  }

  @inline(never)
  private func readsBody(of head: ResponseHead) -> Bool {
    limits.readsRedirects || !head.isRedirect || head.hint("location") == nil
  }

  /// Returns a response whose body could not be read, or throws the error.
  @inline(never)
  private func unread(_ head: ResponseHead, after error: any Error) throws -> CollectedResponse {
    // The token is refreshed after a 401, whatever its body and whether it is accepted.
    let isUsable = !head.isAccepted(accepted) || head.statusCode == 401 || ignores(error)
    guard isUsable, !error.isCancellation else { throw error }
    return CollectedResponse(head: head, data: Data(), readError: error)
  }

  /// Whether the error of reading an accepted body does not matter, because its content is not used.
  func ignores(_ error: any Error) -> Bool { ignoresContent && error.isUndecodableContent }

  /// Returns the final response as `URLSession.data(for:)` does: an incomplete body is an error, whatever the status.
  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    let response = try await load(HTTPRequest(request))
    if let error = response.readError { throw error }
    return (response.data, response.head.urlResponse)
  }

  /// Returns the final response as soon as its head has arrived.
  ///
  /// - Parameter collectsBody: Whether the caller will read the body to its end at once.
  func open(_ request: HTTPRequest, collectsBody: Bool) async throws -> TransportResponse {
    guard let shared, !request.isSafe else {
      return try await open(try hop(request), collectsBody: collectsBody)
    }
    defer { shared.seal() }
    var response = try await open(try hop(request), collectsBody: collectsBody)
    // Nothing more comes of it.
    if response.body is FailedBody { return response }
    // The request may only take effect when its response ends, of which a reader learns after that.
    response.body = ObservedBody(response.body) { _, _, _ in shared.seal() }
    return response
  }

  /// Returns the request's own idempotency, unless middleware around the call has changed the method.
  private func ownIdempotency(of request: HTTPRequest) -> Bool? {
    method == nil || method == request.method ? isIdempotent : nil
  }

  private func isIdempotent(_ request: HTTPRequest) -> Bool { ownIdempotency(of: request) ?? request.isIdempotent }

  /// Returns whether a request may be sent again after its attempt has failed.
  func repeatability(of request: HTTPRequest, after error: any Error) -> Repeatability {
    complete(Repeatability(after: error, isIdempotent: isIdempotent(request)))
  }

  /// Returns whether a request may be sent again after a response with an error status.
  func repeatability(of request: HTTPRequest, afterStatus status: Int) -> Repeatability {
    complete(Repeatability(status: status, isIdempotent: isIdempotent(request)))
  }

  /// Adds what the end of an attempt does not say: that a redirect has changed the method, and what was sent before by
  /// middleware.
  func complete(_ end: Repeatability) -> Repeatability {
    var end = end
    if wasCarriedOut?.withLock({ $0 }) == true { end.fate = .carriedOut }
    guard let hidden = transport.hiddenFate else { return end }
    // It is that of requests which are not idempotent.
    return Repeatability(isIdempotent: false, fate: max(end.fate, hidden), kind: end.kind)
  }

  /// Records what middleware has sent before the last request, for a call that records its own end.
  func recordHidden() {
    guard let hidden = transport.hiddenFate else { return }
    PrismNetworkFailure.recordEnd(Repeatability(isIdempotent: false, fate: hidden, kind: nil))
  }

  /// Records the success of an attempt for the operation that the call is part of.
  ///
  /// - Parameter isComplete: Whether the response is complete: the body of a stream may still fail.
  @inline(never)
  func recordSuccess(of request: HTTPRequest, isComplete: Bool) {
    record(
      complete(
        Repeatability(isIdempotent: isIdempotent(request), fate: isComplete ? .carriedOut : .unknown, kind: nil)))
  }

  /// Records the end of an attempt for the operation that the call is part of.
  func record(_ end: @autoclosure () -> Repeatability) {
    if recordsEnds { PrismNetworkFailure.recordEnd(end()) }
  }

  /// Returns the final response to a first hop made with ``hop(_:)``.
  @inline(never)
  func open(_ hop: HopRequest, collectsBody: Bool) async throws -> TransportResponse {
    var redirects = RedirectState(
      policy: transport.resolvesRedirects ? .reject : redirectPolicy, hasLeftOrigin: hasLeftOrigin)
    var request = transportRequest(hop, collectsBody: collectsBody)
    wasStarted?.withLock { $0 = true }
    while true {
      let response = try await transport.start(request)
      if let final = try finalResponse(response, &request, &redirects, start: hop.own.url) { return final }
      try await response.drain()
    }
  }

  @inline(never)
  private func transportRequest(_ hop: HopRequest, collectsBody: Bool) -> TransportRequest {
    var request = TransportRequest(hop)
    request.deadline = transport.resourceTimeout.map { .now + $0 }
    if let deadline {
      request.deadline = request.deadline.map { min($0, deadline) } ?? deadline
      request.ownDeadline = deadline
    }
    request.collectsBody = collectsBody
    request.isIdempotent = ownIdempotency(of: hop.sent)
    request.cacheMode = cacheMode
    request.decodesContent = decodesContent
    request.maximumInflation = limits.inflation
    request.wantsTimings = log?.wantsTimings ?? false
    request.onSend = onSend ?? progress?.sent
    request.onInterim = onInterim
    request.onReceive = progress.map { BodyObserver(accepted: accepted, report: $0.received) }
    return request
  }

  /// Returns a response if it is the final one; otherwise makes the request's next hop.
  @inline(never)
  private func finalResponse(
    _ response: TransportResponse, _ request: inout TransportRequest, _ redirects: inout RedirectState, start: URL
  ) throws -> TransportResponse? {
    if let hop = try request.hop.responding(to: response.head, by: transport) {
      request.hop = hop
      return nil
    }
    let session = transport.sessionSettings
    if response.head.statusCode == 417, let own = request.hop.own.withoutExpectation {
      // RFC 9110 §15.5.18: the expectation was refused, not the request.
      request.hop = try HopRequest(
        own, session: session, hasLeftOrigin: redirects.hasLeftOrigin,
        start: request.hop.isRedirected ? start : nil, credential: request.hop.credential)
      return nil
    }
    let action = redirects.received(response.head, for: request.hop, decision: response.redirect)
    if redirects.hasChangedMethod { wasCarriedOut?.withLock { $0 = true } }
    switch action {
    case .deliver:
      var response = response
      response.head.isFromOtherOrigin = redirects.hasLeftOrigin
      if redirects.mustNotBeStored { response.head.isBehindUnstorableRedirect = true }
      return try limits.applied(to: response, of: request.hop.sent, accepted: accepted)
    case .fail(let error):
      response.body.cancel()
      throw error
    case .follow(let next):
      if let status = response.head.statusCode { log?.redirected(status: status, to: next.url) }
      // The request's own idempotency only applies to its original method.
      if next.method != request.hop.own.method { request.isIdempotent = nil }
      request.hop = try HopRequest(
        next, session: session, hasLeftOrigin: redirects.hasLeftOrigin, start: start,
        credential: request.hop.credential(for: next))
      return nil
    }
  }
}

extension HTTPRequest {
  /// The request without `Expect`; `nil` if it has none, or its body cannot be sent again.
  fileprivate var withoutExpectation: HTTPRequest? {
    guard bodyIsReplayable, value("expect") != nil else { return nil }
    var request = self
    request.remove("expect")
    return request
  }
}

/// Makes the error for a response outside 2xx.
enum ResponseValidation {
  /// Returns the request's own error, if it can make one from the response; otherwise ``NetworkError/unauthorized`` for 401
  /// and ``HTTPError`` for everything else.
  static func error<T: NetworkRequest>(of response: CollectedResponse, to request: T) -> any Error {
    if let decoder = request.responseErrorDecoder, let error = decoder(NetworkResponse(response)) { return error }
    if let error = request.errorDecoder?(response.data) { return error }
    guard let error = httpError(of: response, method: request.methodName) else { return NetworkError.invalidResponse }
    return error.statusCode == 401 ? NetworkError.unauthorized : error
  }

  /// Returns the error for a response, whatever the request makes of it; `nil` if the response is not HTTP.
  static func httpError(of response: CollectedResponse, method: String?) -> HTTPError? {
    (response.head.urlResponse as? HTTPURLResponse).map { HTTPError($0, data: response.data, method: method) }
  }
}

/// A body whose chunks and end are reported while it is read, the end once, however it ends.
///
/// Unchecked: `count` is accessed by `next()` only, which has one caller at a time.
final class ObservedBody: WrappingBody, @unchecked Sendable {
  /// - Parameters:
  ///   - count: The number of bytes, if there is no error.
  ///   - error: Why the body was not read to its end; a `CancellationError` if the rest was not wanted.
  typealias Report = @Sendable (_ count: Int64, _ end: ResponseEnd?, _ error: (any Error)?) -> Void

  let body: any TransportBody
  private let onChunk: (@Sendable (Data) -> Void)?
  private let report: Locked<Report?>
  private var count: Int64 = 0

  init(_ body: any TransportBody, onChunk: (@Sendable (Data) -> Void)? = nil, report: @escaping Report) {
    self.body = body
    self.onChunk = onChunk
    self.report = Locked(report)
  }

  deinit { finish(because: CancellationError()) }

  func next() async throws -> Data? {
    do {
      let chunk = try await body.next()
      if let chunk {
        count += Int64(chunk.count)
        onChunk?(chunk)
      } else {
        finish(count, because: nil)
      }
      return chunk
    } catch {
      finish(because: error)
      throw error
    }
  }

  func cancel(because error: any Error) {
    // First: the reader fails with a cancellation, whatever the reason, and may send the next request at once.
    finish(because: error)
    body.cancel(because: error)
  }

  private func finish(_ count: Int64 = 0, because error: (any Error)?) {
    report.withLock { $0.take() }?(count, error == nil ? body.end : nil, error)
  }
}

/// The key of exchanges of one client that can share a response: the identity, everything that is sent except for the
/// trace, and every option that affects the response.
struct ExchangeKey: Hashable, Sendable {
  private let method: String
  private let url: String
  private let fields: [String: String]
  private let identity: RequestIdentity
  private let timeout: TimeInterval
  private let redirectPolicy: RedirectPolicy
  private let accepted: StatusCodes
  private let limits: ResponseLimits
  private let decodesContent: Bool
  private let ignoresContent: Bool
  private let cacheMode: CacheMode

  /// Returns `nil` for requests that must not be shared: those with a method that is not safe (RFC 9110 §9.2.1), or
  /// with a body.
  init?(
    _ hop: HopRequest, redirectPolicy: RedirectPolicy, accepted: StatusCodes = .successful, limits: ResponseLimits,
    decodesContent: Bool = true, ignoresContent: Bool = false, cacheMode: CacheMode = .default
  ) {
    let request = hop.sent
    guard request.isSafe, request.body == nil else { return nil }
    method = request.method
    url = request.url.absoluteString
    // Those of the trace differ for each request and do not affect the response; nor does the order (RFC 9110 §5.3).
    fields = HeaderFieldList(fields: hop.sentFields.filter { !Self.isOfTrace($0.name) }).dictionary
    identity = hop.identity
    timeout = request.timeoutInterval
    self.redirectPolicy = redirectPolicy
    self.accepted = accepted
    self.limits = limits
    self.decodesContent = decodesContent
    self.ignoresContent = ignoresContent
    self.cacheMode = cacheMode
  }

  private static func isOfTrace(_ name: String) -> Bool {
    name.isFieldName("traceparent") || name.isFieldName("tracestate")
  }
}
