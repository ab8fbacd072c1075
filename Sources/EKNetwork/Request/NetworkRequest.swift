import Foundation

/// A typed request: its target, its content, and the type that its response decodes to.
///
/// Only ``path`` and ``method`` are required. The properties are read on the caller's actor, once for each attempt.
/// A property that is not declared is that of the manager's ``RequestDefaults``, or else as documented here.
public protocol NetworkRequest: _DeclaredTypes {
  /// The type that the response body decodes to.
  associatedtype Response: Decodable

  /// The path, appended to the base URL's path. A slash at its end, and `//` within it, are kept: they name another
  /// resource. A `..` segment is ``NetworkError/invalidURL``. A `?` is percent-encoded: a query belongs in ``queryParameters``.
  var path: String { get }
  /// The request method.
  var method: HTTPMethod { get }
  /// The name of the method as it is sent, for one that ``HTTPMethod`` does not list, such as `PROPFIND`. It must be a
  /// token (RFC 9110 §9.1). Defaults to that of ``method``.
  var methodName: String { get }
  /// The header fields. They take precedence over the access token and over every default. Defaults to `nil`.
  var headers: [String: String]? { get }
  /// More header fields, whose names may be repeated: the values of a name, after that in ``headers``, are sent as one, joined
  /// with `", "` (RFC 9110 §5.3), and those of `Cookie` with `"; "`. On Linux the fields are sent in order: those of ``headers``,
  /// sorted by name, then these, then what the library and the session add. Otherwise as for ``headers``. Defaults to `nil`.
  var headerFields: HeaderFieldList? { get }
  /// The query items, sent sorted by name after those of the base URL. Defaults to `nil`.
  var queryParameters: [String: String]? { get }
  /// Query items that are sent in this order after all others: names may be repeated, and an item without a value is sent
  /// without `=`. Defaults to `nil`.
  var orderedQuery: [URLQueryItem]? { get }
  /// A whole URL to send the request to, such as that of a next page, in place of the base URL and ``path``. It is sent as
  /// it is, apart from dot segments, with the query items after its own. If it has another origin than the base URL, the
  /// access token and the credentials of the session are not sent, and a 401 does not refresh the token. Defaults to
  /// `nil`.
  var targetURL: URL? { get }
  /// The user and the password with which a request responds to the challenge of a server: with Digest
  /// (RFC 7616, SHA-256 or MD5), or with Basic (RFC 7617) if the server offers no such Digest and has never asked for one. Nothing
  /// is sent before the server asks; once it has accepted them, the next requests to that realm have them in advance with Digest, and
  /// when asked again with Basic.
  ///
  /// Only the origin of the request receives it. It is ignored if the request has an `Authorization` of its own, such as the
  /// access token, and the URL's user comes first: that is sent as Basic at once, until the server asks for Digest. A body that
  /// cannot be sent again is not, and the 401 is the response. Defaults to `nil`.
  var credential: PasswordCredential? { get }
  /// The `Content-Type`, if the body does not specify one. Defaults to `"application/json"`, which is not sent without
  /// a body.
  var contentType: String { get }
  /// The body. Defaults to `nil`.
  var body: RequestBody? { get }
  /// A multipart form to send as the body; together with ``body`` it is ``NetworkError/conflictingBodyTypes``.
  /// Defaults to `nil`.
  var multipartData: MultipartFormData? { get }
  /// An observer of the upload's or download's progress. Defaults to `nil`.
  var progress: NetworkProgress? { get }
  /// The policy for repeating a failed attempt. Defaults to `RetryPolicy()`: no retries.
  var retryPolicy: RetryPolicy { get }
  /// The statuses of which a response is the result; every other one is an error. A response with one of them is not
  /// retried, but after a 401 the token is refreshed first. Its body is decoded like that of a success, and must be
  /// complete. A subscription to events accepts 2xx only. Defaults to ``StatusCodes/successful``: 2xx.
  var acceptedStatuses: StatusCodes { get }
  /// A closure that makes an error of your own from the body of a response that is not accepted; if it returns `nil`,
  /// ``NetworkError/unauthorized`` is thrown for 401 and ``HTTPError`` for every other status. Defaults to `nil`.
  var errorDecoder: ((Data) -> Error?)? { get }
  /// Like ``errorDecoder``, but from the whole response, and asked first: a closure that keeps the head of a 401, for
  /// example. Defaults to `nil`.
  var responseErrorDecoder: ((NetworkResponse) -> Error?)? { get }
  /// A closure that is called with each interim response, such as 103 with its links, as soon as it arrives: in order, off
  /// the caller's actor, and perhaps still while the final response is returned. Redirects and every attempt are included,
  /// responses of a cache are not. Such a request is not combined with an identical one. Injected sessions, and Apple's
  /// platforms before iOS 17 and macOS 14, do not report them. Defaults to `nil`.
  var onInterimResponse: (@Sendable (InterimResponse) -> Void)? { get }
  /// Whether retries, and the token refresh on 401, are allowed. Defaults to `true`.
  var allowsRetry: Bool { get }
  /// A closure that makes the value of a successful response without a body. Defaults to `nil`, and for
  /// ``EmptyResponse`` and ``StatusCodeResponse`` to one that makes them.
  var emptyResponseHandler: ((HTTPURLResponse) throws -> Response)? { get }
  /// The decoder of JSON responses. Defaults to `JSONDecoder()`.
  var jsonDecoder: JSONDecoder { get }
  /// The encoder of JSON bodies. Defaults to `JSONEncoder()`.
  var jsonEncoder: JSONEncoder { get }
  /// Whether the manager's `responseDecoderProvider` may replace ``decodeResponse(data:response:)``. Defaults to
  /// `true`.
  var allowsResponseDecoderOverride: Bool { get }
  /// Whether ``path`` is already percent-encoded, so that a `%2F` in it is sent unchanged. Defaults to `false`: every
  /// `%` is itself encoded.
  var pathIsPercentEncoded: Bool { get }
  /// The maximum time without progress before the request fails with `URLError.timedOut`; sub-second values work.
  /// The wait for one of the session's connections to the host does not count, but for ``totalTimeout``. On Linux, the time in
  /// which the request's body has nothing to send does not count, until a response has a status of 300 or above. Defaults to `nil`: the session's `timeoutIntervalForRequest`.
  var timeout: Duration? { get }
  /// The maximum time for the call as a whole, with its attempts, the waits between them, a token refresh, and the response's
  /// body, also that of a stream; beyond it the request fails with `URLError.timedOut`, or with the last error if there is
  /// no time for a retry. It includes the time that middleware and an injected session take, which are not
  /// interrupted, except a wait in a ``RateLimiter``. Such a request does not wait for an identical one: neither
  /// ``NetworkManager/sharesIdenticalRequests`` nor an ``HTTPCache`` combines them. A subscription to events ignores it.
  /// Defaults to `nil`: no limit but the session's `timeoutIntervalForResource` for each attempt.
  var totalTimeout: Duration? { get }
  /// The handling of redirects. Defaults to ``RedirectPolicy/follow``.
  var redirectPolicy: RedirectPolicy { get }
  /// Whether to send `Expect: 100-continue` (RFC 9110 §10.1.1) and wait for the server's 100 (Continue) before the body
  /// is sent, so that a body that is refused is not sent at all. If no response arrives within a second, the body is
  /// sent. On Apple platforms the system decides whether the body waits. It has no effect on a request without a body, or
  /// with an empty one. Defaults to `false`.
  var expectsContinue: Bool { get }
  /// Whether the request can be sent again automatically if its connection is lost before a response begins, as happens
  /// when a server closes an idle connection at that moment. If not, `URLError.networkConnectionLost` is passed to
  /// ``retryPolicy``. If so, it can also be sent again after a redirect has changed its method to GET. Defaults to the
  /// idempotency of ``method`` (RFC 9110 §9.2.2), or `true` with an `Idempotency-Key` header. On Apple platforms, and with
  /// Foundation's implementation, the system decides about lost connections.
  var isIdempotent: Bool { get }
  /// How the request uses the manager's ``NetworkManager/httpCache``. Defaults to ``CacheMode/default``; without a
  /// cache it has no effect.
  var cacheMode: CacheMode { get }
  /// The maximum size of a response body in bytes, after content decoding; a larger one throws a
  /// ``ResponseLimitError``, at once if the server announces its length. A 401 refreshes the token however long its
  /// body is. Defaults to `nil`: no limit.
  var maximumResponseSize: Int64? { get }
  /// Whether content codings such as gzip are decoded (RFC 9110 §8.4). If not, the body is returned as it was sent, and
  /// an unknown coding is not an error. On Apple platforms, and whenever a `URLSession` performs the request, the
  /// system still decodes those that it knows. Defaults to `true`.
  ///
  /// A part of encoded content cannot be decoded, so a request with a `Range` and no `Accept-Encoding` is sent with
  /// `identity`; if a `URLSession` performs it, the system decides.
  var decodesContent: Bool { get }
  /// The maximum ratio between a decoded body and the bytes received; a larger one throws a ``ResponseLimitError``. The
  /// first MiB is always allowed. Defaults to `nil`: no limit. It has no effect with Foundation's implementation.
  var maximumInflation: Int? { get }

  /// Decodes a successful response, on the caller's actor unless it is the default implementation.
  ///
  /// The default implementation decodes JSON with ``jsonDecoder``. An empty body is passed to ``emptyResponseHandler``;
  /// without one, ``NetworkError/emptyResponse`` is thrown.
  func decodeResponse(data: Data, response: URLResponse) throws -> Response
}

// The requirements above document the defaults.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension NetworkRequest {
  public var methodName: String { method.rawValue }
  public var headers: [String: String]? { nil }
  public var headerFields: HeaderFieldList? { nil }
  public var queryParameters: [String: String]? { nil }
  public var orderedQuery: [URLQueryItem]? { nil }
  public var targetURL: URL? { nil }
  public var credential: PasswordCredential? { nil }
  public var contentType: String { "application/json" }
  public var body: RequestBody? { nil }
  public var multipartData: MultipartFormData? { nil }
  public var progress: NetworkProgress? { nil }
  public var retryPolicy: RetryPolicy { ClientDefaults.current?.retryPolicy ?? RetryPolicy() }
  public var acceptedStatuses: StatusCodes { ClientDefaults.current?.acceptedStatuses ?? .successful }
  public var errorDecoder: ((Data) -> Error?)? { ClientDefaults.current?.errorDecoder }
  public var responseErrorDecoder: ((NetworkResponse) -> Error?)? { ClientDefaults.current?.responseErrorDecoder }
  public var onInterimResponse: (@Sendable (InterimResponse) -> Void)? { nil }
  public var allowsRetry: Bool { true }
  // Not in extensions for the two types: each would propose its own for a `Response` that is not declared.
  public var emptyResponseHandler: ((HTTPURLResponse) throws -> Response)? {
    ResponseDecoding.emptyResponseHandler(for: Response.self)
  }
  public var jsonDecoder: JSONDecoder { ClientDefaults.current?.jsonDecoder ?? JSONDecoder() }
  public var jsonEncoder: JSONEncoder { ClientDefaults.current?.jsonEncoder ?? JSONEncoder() }
  public var allowsResponseDecoderOverride: Bool { true }
  public var pathIsPercentEncoded: Bool { false }
  public var timeout: Duration? { ClientDefaults.current?.timeout }
  public var totalTimeout: Duration? { ClientDefaults.current?.totalTimeout }
  public var redirectPolicy: RedirectPolicy { ClientDefaults.current?.redirectPolicy ?? .follow }
  public var expectsContinue: Bool { false }
  public var isIdempotent: Bool {
    method.isIdempotent || headers?.field("Idempotency-Key") != nil
      || headerFields?.contains(HTTPRequest.idempotencyKey) == true
  }
  public var cacheMode: CacheMode { .default }
  public var decodesContent: Bool { true }
  public var maximumResponseSize: Int64? { ClientDefaults.current?.maximumResponseSize }
  public var maximumInflation: Int? { nil }

  public func decodeResponse(data: Data, response: URLResponse) throws -> Response {
    try DefaultDecoding.note(self, data)
    return try ResponseDecoding.decode(self, data: data, response: response, decoder: nil)
  }
}

/// How redirects are handled (RFC 9110 §15.4).
public enum RedirectPolicy: Sendable, Equatable {
  /// Follows up to 20 redirects. `Authorization`, `Cookie`, `Proxy-Authorization` and `Host`, and fields named after
  /// tokens, keys, passwords, sessions or one-time codes (`X-GitHub-OTP`, `DPoP`), are removed when the origin changes, and
  /// so are `traceparent`, `tracestate` and `baggage`; a redirect from https to http is refused; 307 and 308 send the body again.
  case follow
  /// Returns the redirect itself: `send` throws an ``HTTPError`` with its status and headers.
  case reject
}

/// How a request uses the ``HTTPCache`` of its manager: the modes of the Fetch standard.
///
/// Without a cache they have no effect. In `default` mode, a request with a condition of its own (`If-None-Match`,
/// `If-Modified-Since`, `If-Match`, `If-Unmodified-Since`, `If-Range`) bypasses the cache: its caller has a copy.
public enum CacheMode: String, CaseIterable, Sendable {
  /// Uses a fresh response, validates a stale one, and stores what may be stored (RFC 9111). The request's own
  /// `Cache-Control` field is obeyed.
  case `default`
  /// Neither reads nor changes the cache, except for the invalidation by unsafe methods.
  case noStore
  /// Sends the request whatever is stored, with `Cache-Control: no-cache` for intermediate caches, and stores the
  /// response.
  case reload
  /// Validates the stored response, fresh or stale, with `Cache-Control: max-age=0` for intermediate caches. An
  /// `immutable` response is used as long as it is fresh (RFC 8246).
  case noCache
  /// Uses the stored response, fresh or stale, and sends the request only if there is none.
  case forceCache
  /// Uses the stored response, fresh or stale; throws `URLError.resourceUnavailable` if there is none. Nothing is sent.
  case onlyIfCached
}

/// The request methods of RFC 9110 §9 and RFC 5789.
public enum HTTPMethod: String, CaseIterable, Sendable {
  /// Transfers a representation (RFC 9110 §9.3.1).
  case get = "GET"
  /// Has the resource process the content (§9.3.3).
  case post = "POST"
  /// Replaces the representation (§9.3.4).
  case put = "PUT"
  /// Removes the resource's association (§9.3.5).
  case delete = "DELETE"
  /// Changes a part of the resource (RFC 5789).
  case patch = "PATCH"
  /// Like GET, but without the response content (RFC 9110 §9.3.2).
  case head = "HEAD"
  /// Requests the communication options of the resource (§9.3.7).
  case options = "OPTIONS"
  /// Loops the request back (§9.3.8).
  case trace = "TRACE"
  /// Establishes a tunnel through a proxy (§9.3.6).
  case connect = "CONNECT"

  /// Whether several identical requests have the same effect as one (RFC 9110 §9.2.2).
  public var isIdempotent: Bool {
    switch self {
    case .get, .head, .put, .delete, .options, .trace: true
    case .post, .patch, .connect: false
    }
  }

  /// Whether a method is safe (RFC 9110 §9.2.1). Unknown ones are assumed not to be.
  static func isSafe(_ name: String) -> Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(name) }

  /// Whether a request without content says so with `Content-Length: 0` (RFC 9110 §8.6): its method anticipates content.
  /// Unknown ones are assumed to.
  static func anticipatesContent(_ name: String) -> Bool {
    !["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"].contains(name)
  }
}
