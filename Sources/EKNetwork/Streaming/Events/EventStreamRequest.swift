import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request with the header fields that a subscription adds: the media type, and the ID to resume after.
struct EventStreamRequest<Base: NetworkRequest>: NetworkRequest {
  typealias Response = EmptyResponse

  let base: Base
  let lastEventID: String
  /// The idle timeout of the exchange; `nil` for that of the request.
  let silence: Duration?
  /// The error response.
  let refusal: Locked<NetworkResponse?>
  /// The sequence that is sent as the body.
  let sequence: Locked<SequenceBody?>
  /// Set when a redirect changes the method, because the request was carried out.
  let wasCarriedOut: Locked<Bool>

  var path: String { base.path }
  var method: HTTPMethod { base.method }
  var methodName: String { base.methodName }
  var queryParameters: [String: String]? { base.queryParameters }
  var orderedQuery: [URLQueryItem]? { base.orderedQuery }
  var targetURL: URL? { base.targetURL }
  var contentType: String { base.contentType }
  var body: RequestBody? {
    let body = base.body
    // One that has begun is kept: `body` may return another one over the same, used-up sequence.
    if let next = body?.sequence, sequence.withLock({ $0 })?.isUsedUp != true { sequence.replace(\.self, with: next) }
    return body
  }
  var multipartData: MultipartFormData? { base.multipartData }
  /// Stores the response and returns no error: the subscription needs the status and `Retry-After`, and calls the request's
  /// own decoders when it ends.
  var responseErrorDecoder: ((NetworkResponse) -> Error?)? {
    guard base.errorDecoder != nil || base.responseErrorDecoder != nil else { return nil }
    return { [refusal] response in
      refusal.withLock { $0 = response }
      return nil
    }
  }
  var onInterimResponse: (@Sendable (InterimResponse) -> Void)? { base.onInterimResponse }
  var allowsRetry: Bool { base.allowsRetry }
  var jsonEncoder: JSONEncoder { base.jsonEncoder }
  var pathIsPercentEncoded: Bool { base.pathIsPercentEncoded }
  var timeout: Duration? { silence ?? base.timeout }
  var redirectPolicy: RedirectPolicy { base.redirectPolicy }
  var expectsContinue: Bool { base.expectsContinue }
  var isIdempotent: Bool { base.isIdempotent }
  var cacheMode: CacheMode { base.cacheMode }
  var decodesContent: Bool { base.decodesContent }
  var maximumResponseSize: Int64? { base.maximumResponseSize }
  var maximumInflation: Int? { base.maximumInflation }

  /// WHATWG HTML §9.2.3. The request's own fields take precedence, except for the ID, which changes with each event.
  var headers: [String: String]? {
    var headers = HeaderFields.joined(base.headers, base.headerFields) ?? [:]
    if headers.field("Accept") == nil { headers["Accept"] = "text/event-stream" }
    if headers.field("Cache-Control") == nil { headers["Cache-Control"] = "no-store" }
    guard !lastEventID.isEmpty else { return headers }
    for name in headers.keys where name.lowercased() == "last-event-id" { headers[name] = nil }
    headers["Last-Event-ID"] = lastEventID
    return headers
  }
}
