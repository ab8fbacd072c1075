import Dispatch
import Foundation

/// An implementation that performs one attempt on the wire. Redirects, retries, tokens and status codes are handled in
/// `Exchange/`.
///
/// Every transport guarantees: an error is a `URLError`, or `CancellationError` if the task was cancelled, or one of
/// the library's own if nothing was sent; cancelling ends a suspended call within milliseconds and closes the
/// connection; nothing is buffered without bound.
protocol Transport: Sendable {
  /// Whether redirects have already been followed (or declined) below this seam, so that `Exchange/` must not follow
  /// them.
  var resolvesRedirects: Bool { get }

  /// The session's `timeoutIntervalForResource`, which limits one attempt with all its redirects.
  var resourceTimeout: Duration? { get }

  /// Whether ``TransportRequest/onSend`` is called with what is sent: without a call, nothing was.
  var countsSentBytes: Bool { get }

  /// The implementation that sends the requests, for the log; `nil` for a user's own code.
  var implementation: TransportDescription? { get }

  /// The known settings of the session. What it adds to a request is added above this seam, by ``HopRequest``.
  var sessionSettings: SessionSettings { get }

  /// What a connection beside the requests, such as a WebSocket, takes over from the session.
  var connectionSettings: ConnectionSettings { get }

  /// Sends the request and returns as soon as the final response head has been received.
  func start(_ request: TransportRequest) async throws -> TransportResponse

  /// Opens a connection that the request could be sent over, unless there is one. Returns `false` if it cannot open
  /// connections without requests.
  func preconnect(_ request: TransportRequest) async throws -> Bool
}

extension Transport {
  var resourceTimeout: Duration? { sessionSettings.resourceTimeout }
  var countsSentBytes: Bool { true }
  var implementation: TransportDescription? { nil }
  var connectionSettings: ConnectionSettings { ConnectionSettings(proxies: sessionSettings.proxies) }
  func preconnect(_ request: TransportRequest) async throws -> Bool { false }
}

/// The settings of a session for connections to servers: whom to trust, and which way to go.
struct ConnectionSettings: Sendable {
  enum Trust: Sendable {
    case system
    case options(TLSOptions)
    /// Only the session itself, or nothing at all, can decide on it: no other connection must be made.
    case unavailable(any Error)
  }

  var trust = Trust.system
  var proxies: SessionProxies?
  var route = ConnectionRoute()
}

/// A request to a transport, with the options for its attempt.
struct TransportRequest: Sendable {
  /// The request as it is sent.
  var sent: HTTPRequest { hop.sent }
  /// The hop, which also holds the request as its caller made it.
  var hop: HopRequest
  /// When the attempt has to be finished, redirects included.
  var deadline: ContinuousInstant?
  /// The end of the request's own time, if that is limited: it must not wait for what another one gets.
  var ownDeadline: ContinuousInstant?
  /// Whether the whole body will be collected, so that a transport without back-pressure must not limit it.
  var collectsBody = false
  /// Whether the request may be sent again if its connection failed before a response began; `nil` leaves it to the
  /// method. Foundation has its own rules.
  var isIdempotent: Bool?
  /// How many times larger than the received bytes a body may become when it is decoded.
  var maximumInflation: Int?
  /// How the request uses a cache, if there is one in front of the transport.
  var cacheMode = CacheMode.default
  /// Whether content codings are removed, where the library does that itself.
  var decodesContent = true
  /// Whether to measure the phases of the exchange.
  var wantsTimings = false
  /// A callback for the number of body bytes handed to the network so far, and the total if it is known. It is called
  /// on the transport's own thread and must return immediately.
  var onSend: (@Sendable (_ sent: Int64, _ total: Int64?) -> Void)?
  var onReceive: BodyObserver?
  var onInterim: InterimObserver?

  init(_ hop: HopRequest) { self.hop = hop }
}

/// An observer of the bodies of the responses that the request accepts.
struct BodyObserver: Sendable {
  var accepted = StatusCodes.successful
  /// Called with the number of body bytes received so far, and the announced length.
  let report: @Sendable (_ received: Int64, _ total: Int64?) -> Void

  func observes(_ head: ResponseHead) -> Bool { head.isAccepted(accepted) }
}

/// Calls a request's closure with its interim responses, in order, on a queue of its own: an event loop must not wait for
/// it.
final class InterimObserver: Sendable {
  private let report: @Sendable (InterimResponse) -> Void
  private let queue = DispatchQueue(label: "EKNetwork.InterimResponse")

  init(_ report: @escaping @Sendable (InterimResponse) -> Void) { self.report = report }

  func received(_ head: RawHead) {
    pass(InterimResponse(statusCode: head.statusCode, headerFields: HeaderFieldList(head.fields)))
  }

  func received(_ response: HTTPURLResponse) {
    pass(
      InterimResponse(
        statusCode: response.statusCode,
        headerFields: HeaderFieldList(response.allHeaderFields as? [String: String])))
  }

  private func pass(_ response: InterimResponse) { queue.async { [report] in report(response) } }
}

/// A response whose body has yet to be read.
struct TransportResponse: Sendable {
  var head: ResponseHead
  var body: any TransportBody
  /// The decision of the user's session delegate, if `head` is a redirect.
  var redirect = RedirectDecision.undecided
}

/// A response body. Releasing the last reference, or `cancel()`, ends the exchange: an HTTP/1.1 connection is closed, an
/// HTTP/2 stream is reset.
protocol TransportBody: AnyObject, Sendable {
  /// Returns the next bytes as soon as there are any, never empty, or `nil` at the end. One caller at a time.
  func next() async throws -> Data?
  /// What became known when the body ended, which may be before it has been read; `nil` if there is nothing.
  var end: ResponseEnd? { get }
  /// Ends the exchange. A suspended `next()` throws `CancellationError`.
  func cancel()
  /// Ends the exchange in the same way; those who watch the body learn that the reason is this error.
  func cancel(because error: any Error)
  /// Ends the exchange for a reader that reads on: `next()` returns what has arrived before it throws `CancellationError`.
  func stopReceiving()
}

extension TransportBody {
  var end: ResponseEnd? { nil }

  func cancel(because error: any Error) { cancel() }

  /// For a body that keeps nothing of what has arrived.
  func stopReceiving() { cancel() }
}

/// A body that reads another one, with which it ends.
protocol WrappingBody: TransportBody {
  var body: any TransportBody { get }
}

extension WrappingBody {
  var end: ResponseEnd? { body.end }
  func cancel() { cancel(because: CancellationError()) }
  func cancel(because error: any Error) { body.cancel(because: error) }
  func stopReceiving() { body.stopReceiving() }
}

/// What becomes known when a response has ended. A class: few responses have it, and every frame that holds a response would
/// reserve space for it.
final class ResponseEnd: Sendable {
  /// The timings of the exchange, if the request asked for them.
  let timings: NetworkTimings?
  /// The trailer fields (RFC 9110 §6.5).
  let trailers: HeaderFieldList
  /// The number of the failure that the response is, if several callers share it: ``FlightFailure/number``.
  let failure: Int?

  init(timings: NetworkTimings?, trailers: HeaderFieldList = HeaderFieldList(), failure: Int? = nil) {
    self.timings = timings
    self.trailers = trailers
    self.failure = failure
  }
}

/// The decision of the user's session delegate about a redirect, which was not followed below the `Transport` seam.
enum RedirectDecision: Sendable {
  /// There was no delegate, or it returned the proposed request unchanged: the redirect is followed by the usual rules.
  case undecided
  /// The delegate declined: the redirect response is the result, with its body.
  case declined
  /// The delegate returned another request to be sent instead, with the body that it contains.
  case request(URLRequest)
}

/// An error thrown when libcurl does not support a setting that security, or the meaning of the request, depends on.
/// Nothing has been sent.
public struct TransportOptionError: LocalizedError, NonRetriableError, Equatable, Sendable {
  /// The name of the setting in the implementation, such as `CURLOPT_PINNEDPUBLICKEY`.
  public let option: String
  /// The implementation and its version, such as `libcurl 7.88.1`.
  public let library: String

  /// Creates an error as the library throws it, for tests.
  public init(option: String, library: String) {
    self.option = option
    self.library = library
  }

  /// A description that names the setting and the implementation. It never includes the value, which may be a secret.
  public var errorDescription: String? { "\(library) has refused \(option), and the request was not sent" }
}

/// The timings of the last exchange of a request, and the properties of its connection.
///
/// A value is `nil` if its phase did not take place, as with connecting when a connection was already open, or if the
/// session does not report it, as with a mock and with Foundation's implementation on Linux.
public struct NetworkTimings: Sendable, Equatable {
  /// The time it took to resolve the name of the host, or of the proxy.
  public var nameLookup: Duration?
  /// The time it took to connect, without ``nameLookup`` and ``secureConnect``.
  public var connect: Duration?
  /// The duration of the TLS handshake.
  public var secureConnect: Duration?
  /// The time from the start to the first byte of the response.
  public var firstByte: Duration?
  /// The time from the start to the end.
  public var total: Duration
  /// Whether the connection had served another request before.
  public var isConnectionReused: Bool?
  /// The name of the protocol, such as `HTTP/1.1` or `HTTP/2`.
  public var protocolName: String?
  /// The address of the server, or of the proxy.
  public var remoteAddress: String?

  /// Creates timings as the library reports them, for tests.
  public init(
    nameLookup: Duration? = nil, connect: Duration? = nil, secureConnect: Duration? = nil, firstByte: Duration? = nil,
    total: Duration, isConnectionReused: Bool? = nil, protocolName: String? = nil, remoteAddress: String? = nil
  ) {
    self.nameLookup = nameLookup
    self.connect = connect
    self.secureConnect = secureConnect
    self.firstByte = firstByte
    self.total = total
    self.isConnectionReused = isConnectionReused
    self.protocolName = protocolName
    self.remoteAddress = remoteAddress
  }
}
