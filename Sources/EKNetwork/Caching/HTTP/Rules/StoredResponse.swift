import Foundation

/// A stored response without its body, as the caching rules see it.
struct StoredResponse: Sendable, Equatable {
  /// The status code.
  let status: Int
  /// The reason phrase, which has no meaning but is part of the response.
  let reason: String
  /// The stored header fields.
  let fields: HeaderFieldList
  let requestTime: Date
  let responseTime: Date
  let varying: VaryingFields
  /// The identity of the request that the response was received for.
  let identity: CacheIdentity
  /// Whether the body is stored with its content coding, as it was sent.
  let isEncoded: Bool

  // Computed once.
  let hasContentCoding: Bool
  let directives: CacheDirectives
  let freshness: ResponseFreshness
  let validators: ResponseValidators

  init(
    status: Int, reason: String, fields: HeaderFieldList, requestTime: Date, responseTime: Date, varying: VaryingFields,
    identity: CacheIdentity, isEncoded: Bool = false
  ) {
    self.status = status
    self.reason = reason
    directives = CacheDirectives(fields.value("cache-control"))
    var fields = fields
    // Another user who receives the response must not receive a session with it.
    if directives.isShareable { fields.remove { ["set-cookie", "set-cookie2"].contains($0) } }
    self.fields = fields
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.varying = varying
    self.identity = identity
    hasContentCoding = fields.contains("content-encoding")
    self.isEncoded = isEncoded && hasContentCoding
    freshness = ResponseFreshness(
      status: status, fields: fields, directives: directives, requestTime: requestTime, responseTime: responseTime)
    validators = ResponseValidators(fields)
  }

  /// Returns the response updated with newer header fields from the server.
  func freshened(with update: HeaderFieldList, requestTime: Date, responseTime: Date) -> StoredResponse {
    StoredResponse(
      status: status, reason: reason, fields: Freshening.updated(fields, with: update, at: responseTime),
      requestTime: requestTime, responseTime: responseTime, varying: varying, identity: identity,
      isEncoded: isEncoded)
  }

  /// RFC 5861 §4: whether it may be used in place of an error.
  func mayReplaceError(at now: Date, request: CacheDirectives) -> Bool {
    // RFC 9111 §5.2.2.2 and §5.2.2.4: these forbid it in any case.
    guard !directives.mustRevalidate, !directives.noCache else { return false }
    let stale = -freshness.remaining(at: now)
    let allowed = [directives.staleIfError, request.staleIfError].compactMap { $0 }.max()
    return allowed.map { stale <= Double($0) } ?? false
  }
}
