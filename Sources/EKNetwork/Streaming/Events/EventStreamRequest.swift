import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request with what a subscription adds to its header: the media type, and the ID to resume after.
struct EventStreamRequest<Base: NetworkRequest>: NetworkRequest {
  typealias Response = EmptyResponse

  let base: Base
  let lastEventID: String

  var path: String { base.path }
  var method: HTTPMethod { base.method }
  var queryParameters: [String: String]? { base.queryParameters }
  var contentType: String { base.contentType }
  var body: RequestBody? { base.body }
  var multipartData: MultipartFormData? { base.multipartData }
  var errorDecoder: ((Data) -> Error?)? { base.errorDecoder }
  var allowsRetry: Bool { base.allowsRetry }
  var jsonEncoder: JSONEncoder { base.jsonEncoder }
  var pathIsPercentEncoded: Bool { base.pathIsPercentEncoded }
  var timeout: Duration? { base.timeout }
  var redirectPolicy: RedirectPolicy { base.redirectPolicy }
  var expectsContinue: Bool { base.expectsContinue }
  var isIdempotent: Bool { base.isIdempotent }
  var maximumResponseSize: Int64? { base.maximumResponseSize }
  var maximumInflation: Int? { base.maximumInflation }

  /// WHATWG HTML §9.2.3. The request's own fields win, but for the ID, which changes with each event.
  var headers: [String: String]? {
    var headers = base.headers ?? [:]
    if headers.field("Accept") == nil { headers["Accept"] = "text/event-stream" }
    if headers.field("Cache-Control") == nil { headers["Cache-Control"] = "no-store" }
    guard !lastEventID.isEmpty else { return headers }
    for name in headers.keys where name.lowercased() == "last-event-id" { headers[name] = nil }
    headers["Last-Event-ID"] = lastEventID
    return headers
  }
}
