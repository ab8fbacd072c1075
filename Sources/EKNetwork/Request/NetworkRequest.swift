import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A typed request: where it goes, what it carries, and what its response decodes to.
///
/// Only ``path`` and ``method`` are required. A conforming type is read on the caller's actor, once for each attempt.
public protocol NetworkRequest {
  /// What the response body decodes to.
  associatedtype Response: Decodable

  /// The path that is joined to the base URL's own path. A `..` segment is ``NetworkError/invalidURL``.
  var path: String { get }
  /// The request method.
  var method: HTTPMethod { get }
  /// The name of the method as it is sent: for one that ``HTTPMethod`` does not list, such as `PROPFIND`, a token
  /// (RFC 9110 §9.1). Defaults to that of ``method``.
  var methodName: String { get }
  /// Header fields. They win over the access token and over every default. Defaults to `nil`.
  var headers: [String: String]? { get }
  /// Query items, sent sorted by name after those of the base URL. Defaults to `nil`.
  var queryParameters: [String: String]? { get }
  /// The `Content-Type`, where the body does not name a type of its own. Defaults to `"application/json"`, which is not
  /// sent without a body.
  var contentType: String { get }
  /// The body. Defaults to `nil`.
  var body: RequestBody? { get }
  /// A multipart form to send as the body; together with ``body`` it is ``NetworkError/conflictingBodyTypes``.
  /// Defaults to `nil`.
  var multipartData: MultipartFormData? { get }
  /// An observer of the upload's or download's progress. Defaults to `nil`.
  var progress: NetworkProgress? { get }
  /// When and how often a failed attempt is repeated. Defaults to `RetryPolicy()`: never.
  var retryPolicy: RetryPolicy { get }
  /// Makes an error of your own from the body of a non-2xx response; `nil` from it means ``HTTPError``.
  /// Defaults to `nil`.
  var errorDecoder: ((Data) -> Error?)? { get }
  /// Whether retries, and the token refresh on 401, are allowed. Defaults to `true`.
  var allowsRetry: Bool { get }
  /// Makes the value of a successful response without a body. Defaults to `nil`, and for ``EmptyResponse`` and
  /// ``StatusCodeResponse`` to a handler that makes them.
  var emptyResponseHandler: ((HTTPURLResponse) throws -> Response)? { get }
  /// The decoder of JSON responses. Defaults to `JSONDecoder()`.
  var jsonDecoder: JSONDecoder { get }
  /// The encoder of JSON bodies. Defaults to `JSONEncoder()`.
  var jsonEncoder: JSONEncoder { get }
  /// Whether the manager's `responseDecoderProvider` may take the place of ``decodeResponse(data:response:)``.
  /// Defaults to `true`.
  var allowsResponseDecoderOverride: Bool { get }
  /// Whether ``path`` is percent-encoded already, so that a `%2F` in it reaches the server as it stands.
  /// Defaults to `false`: every `%` is itself encoded.
  var pathIsPercentEncoded: Bool { get }
  /// How long the exchange may stand still before it fails with `URLError.timedOut`; sub-second values work.
  /// Defaults to `nil`: the session's `timeoutIntervalForRequest`.
  var timeout: Duration? { get }
  /// What happens when the server redirects. Defaults to ``RedirectPolicy/follow``.
  var redirectPolicy: RedirectPolicy { get }
  /// Whether the server is asked for its consent, by `Expect: 100-continue` (RFC 9110 §10.1.1), before the body is sent,
  /// so that a body that it refuses does not travel at all. One that does not answer within a second gets the body. On
  /// Apple platforms the system decides whether the body waits. Defaults to `false`.
  var expectsContinue: Bool { get }
  /// Whether the request can be sent again, unasked, when its connection died before a response began, as happens when
  /// a server closes an idle connection at that moment. If not, that is `URLError.networkConnectionLost`, for
  /// ``retryPolicy`` to judge. Defaults to what RFC 9110 §9.2.2 says of ``method``, or `true` with an
  /// `Idempotency-Key` header. On Apple platforms the system decides.
  var isIdempotent: Bool { get }
  /// How the request uses the manager's ``NetworkManager/httpCache``. Defaults to ``CacheMode/default``; without a
  /// cache it means nothing.
  var cacheMode: CacheMode { get }
  /// The greatest size of a response body in bytes, its content codings undone; more is a ``ResponseLimitError``, at
  /// once where the server announces it. A 401 refreshes the token however long its body is. Defaults to `nil`: no limit.
  var maximumResponseSize: Int64? { get }
  /// Whether content codings such as gzip are undone (RFC 9110 §8.4). If not, the body is handed out as it was sent,
  /// and one whose coding is not known is no error. On Apple platforms, and wherever a `URLSession` carries the request,
  /// the system undoes those that it knows all the same. Defaults to `true`.
  var decodesContent: Bool { get }
  /// How many times larger than what was received a body may become when its content coding is undone; more is a
  /// ``ResponseLimitError``. The first MiB is always allowed. Defaults to `nil`: no limit.
  var maximumInflation: Int? { get }

  /// Makes the value from a successful response.
  ///
  /// The default decodes JSON with ``jsonDecoder``; an empty body goes to ``emptyResponseHandler``, without which it
  /// is ``NetworkError/emptyResponse``.
  func decodeResponse(data: Data, response: URLResponse) throws -> Response
}

// The requirements above document the defaults.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension NetworkRequest {
  public var methodName: String { method.rawValue }
  public var headers: [String: String]? { nil }
  public var queryParameters: [String: String]? { nil }
  public var contentType: String { "application/json" }
  public var body: RequestBody? { nil }
  public var multipartData: MultipartFormData? { nil }
  public var progress: NetworkProgress? { nil }
  public var retryPolicy: RetryPolicy { RetryPolicy() }
  public var errorDecoder: ((Data) -> Error?)? { nil }
  public var allowsRetry: Bool { true }
  public var emptyResponseHandler: ((HTTPURLResponse) throws -> Response)? { nil }
  public var jsonDecoder: JSONDecoder { JSONDecoder() }
  public var jsonEncoder: JSONEncoder { JSONEncoder() }
  public var allowsResponseDecoderOverride: Bool { true }
  public var pathIsPercentEncoded: Bool { false }
  public var timeout: Duration? { nil }
  public var redirectPolicy: RedirectPolicy { .follow }
  public var expectsContinue: Bool { false }
  public var isIdempotent: Bool {
    method.isIdempotent || headers?.field("Idempotency-Key") != nil
  }
  public var cacheMode: CacheMode { .default }
  public var decodesContent: Bool { true }
  public var maximumResponseSize: Int64? { nil }
  public var maximumInflation: Int? { nil }

  public func decodeResponse(data: Data, response: URLResponse) throws -> Response {
    DefaultDecoding.note(Self.self)
    return try ResponseDecoding.decode(self, data: data, response: response, decoder: nil)
  }
}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension NetworkRequest where Response == EmptyResponse {
  public var emptyResponseHandler: ((HTTPURLResponse) throws -> Response)? {
    { _ in EmptyResponse() }
  }
}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension NetworkRequest where Response == StatusCodeResponse {
  public var emptyResponseHandler: ((HTTPURLResponse) throws -> Response)? {
    { StatusCodeResponse($0) }
  }
}
