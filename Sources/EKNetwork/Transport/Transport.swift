import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One attempt on the wire. Redirects, retries, tokens and status codes are the business of `Exchange/`.
///
/// What every transport promises: an error is a `URLError`, or `CancellationError` when the task was cancelled, or one of the
/// library's own when nothing was sent;
/// cancelling ends a suspended call within milliseconds and closes the connection; nothing is buffered without bound.
protocol Transport: Sendable {
  /// Whether a redirect has been followed (or declined) below this seam already, so that `Exchange/` must not follow it.
  var resolvesRedirects: Bool { get }

  /// The `timeoutIntervalForResource` of the session, for one attempt with all its redirects.
  var resourceTimeout: Duration? { get }

  /// What carries the requests, for the log; `nil` for a user's own code.
  var implementation: TransportDescription? { get }

  /// What is known of the session. What it adds to a request is added above this seam, by ``HopRequest``.
  var sessionSettings: SessionSettings { get }

  /// Sends the request and returns as soon as the final response head is there.
  func start(_ request: TransportRequest) async throws -> TransportResponse
}

extension Transport {
  var implementation: TransportDescription? { nil }
}

/// What a transport is asked to do.
struct TransportRequest: Sendable {
  /// Method, URL, headers and body as they are sent.
  var urlRequest: URLRequest { hop.urlRequest }
  /// The same, with what its caller made it of.
  var hop: HopRequest
  /// When the attempt has to be over, redirects included.
  var deadline: ContinuousClock.Instant?
  /// Whether the whole body is going to be collected, so that a transport without back-pressure must not bound it.
  var collectsBody = false
  /// Whether the request may be sent again when its connection died before a response began; `nil` leaves it to the
  /// method. Only libcurl asks: Foundation has its own rules.
  var isIdempotent: Bool?
  /// How many times larger than what was received a body may become when its content codings are undone.
  var maximumInflation: Int?
  /// How the request uses a cache, if there is one in front of the transport.
  var cacheMode = CacheMode.default
  /// Whether content codings are undone, where that is the library's own doing.
  var decodesContent = true
  /// Whether the parts of the exchange are to be timed.
  var wantsTimings = false
  /// Called with the body bytes handed to the network so far, and their total where it is known. Called on the
  /// transport's own thread: must return at once.
  var onSend: (@Sendable (_ sent: Int64, _ total: Int64?) -> Void)?
  /// Called with the body bytes received so far and the announced length.
  var onReceive: (@Sendable (_ received: Int64, _ total: Int64?) -> Void)?

  init(_ hop: HopRequest) { self.hop = hop }
}

/// A response whose body has yet to be pulled.
struct TransportResponse: Sendable {
  var head: ResponseHead
  var body: any TransportBody
  /// What the user's own session delegate said, if `head` is a redirect.
  var redirect = RedirectDecision.undecided
}

/// A response body. Dropping the last reference, or `cancel()`, ends the exchange and closes its connection.
protocol TransportBody: AnyObject, Sendable {
  /// The next bytes as soon as there are any, never empty; `nil` at the end. One caller at a time.
  func next() async throws -> Data?
  /// How long the parts of the exchange took, once the body has ended, if the request asked for it.
  var timings: NetworkTimings? { get }
  /// Ends the exchange. A suspended `next()` throws `CancellationError`.
  func cancel()
}

extension TransportBody {
  var timings: NetworkTimings? { nil }
}
