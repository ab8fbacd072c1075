import Foundation

/// A stored response without its body, as the caching rules see it.
final class StoredResponse: Sendable {
  let status: Int
  /// The reason phrase, which has no meaning but is part of the response.
  let reason: String
  let fields: HeaderFieldList
  let requestTime: Date
  let responseTime: Date
  let varying: VaryingFields
  /// The identity of the request that the response was received for.
  let identity: RequestIdentity
  /// The session that received it, among requests without credentials and cookies: ``SessionSettings/number``. `nil` if
  /// that is not known any more.
  let receiver: Int?
  /// Whether the body is stored with its content coding, as it was sent.
  let isEncoded: Bool

  // Computed once.
  let hasContentCoding: Bool
  let directives: CacheDirectives
  let freshness: ResponseFreshness
  let validators: ResponseValidators

  init(
    status: Int, reason: String, fields: HeaderFieldList, requestTime: Date, responseTime: Date, varying: VaryingFields,
    identity: RequestIdentity, receiver: Int? = nil, isEncoded: Bool = false
  ) {
    self.status = status
    self.reason = reason
    directives = CacheDirectives(fields.values("cache-control"))
    var fields = fields
    // Another user who receives the response must not receive a session with it.
    if directives.isShareable { fields.remove(where: Self.setsCookies) }
    self.fields = fields
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.varying = varying
    self.identity = identity
    self.receiver = receiver
    hasContentCoding = !ContentCoding.names(fields.value("content-encoding")).isEmpty
    self.isEncoded = isEncoded && hasContentCoding
    freshness = ResponseFreshness(
      status: status, fields: fields, directives: directives, requestTime: requestTime, responseTime: responseTime)
    validators = ResponseValidators(fields)
  }

  // The last bit of a time is lost in a file, which counts from another year than `Date` does.
  private static let greatestRounding = 1e-5

  /// Returns whether a cache keeps one of the two: they have the same selecting fields (RFC 9111 §4.1), and bodies for
  /// the same requests, those that decode the content or those that do not. One without a coding is for both.
  func isSameVariant(as other: StoredResponse) -> Bool {
    varying.selectors == other.varying.selectors
      && (isEncoded == other.isEncoded || !hasContentCoding || !other.hasContentCoding)
  }

  /// Returns whether this is the same response, rather than an earlier or later one of the same variant.
  func isSame(as other: StoredResponse) -> Bool {
    func isSame(_ time: Date, _ other: Date) -> Bool { abs(time.timeIntervalSince(other)) < Self.greatestRounding }
    return isSameVariant(as: other) && isSame(requestTime, other.requestTime)
      && isSame(responseTime, other.responseTime)
  }

  /// Returns whether this is the more recent response of the same variant, although the other one has ended now: it was
  /// requested later.
  func supersedes(_ other: StoredResponse, at now: Date) -> Bool {
    // A time in the future is that of a clock that was set back since, and says nothing.
    isSameVariant(as: other)
      && requestTime.timeIntervalSince(other.requestTime) > Self.greatestRounding
      && requestTime.timeIntervalSince(now) < Self.greatestRounding
  }

  /// Returns the response updated with newer header fields, which the server has sent to another request. They are for
  /// its sender: what is received for one identity stays with it.
  func freshened(
    with update: HeaderFieldList, for query: CacheQuery, requestTime: Date, responseTime: Date
  ) -> StoredResponse {
    var update = update
    // The stored response is public, but the update does not say so of its own fields.
    if directives.isShareable, !query.identity.isAnonymous, !update.contains("cache-control") {
      update.remove { !Freshening.describing.contains($0) }
    }
    let fields = Freshening.updated(self.fields(for: query), with: update, at: responseTime)
    return StoredResponse(
      status: status, reason: reason, fields: fields, requestTime: requestTime, responseTime: responseTime,
      varying: varying.updated(response: fields, request: query.fields, salt: query.salt), identity: query.identity,
      receiver: query.receiver, isEncoded: isEncoded)
  }

  /// Returns the fields for a request that the response may be used for. The cookies that it sets are only for the user
  /// whose request it was the response to, and those that it sets for nobody in particular, who may be anybody, only for
  /// the session that received them.
  func fields(for query: CacheQuery) -> HeaderFieldList {
    let isReceiver = !identity.isAnonymous || (receiver != nil && receiver == query.receiver)
    guard !isReceiver || !identity.isSameUser(as: query.identity) else { return fields }
    var fields = fields
    fields.remove(where: Self.setsCookies)
    return fields
  }

  private static func setsCookies(_ name: String) -> Bool { name == "set-cookie" || name == "set-cookie2" }

  /// Whether it may still be stored after an update (RFC 9111 §3, §4.1).
  var mayBeKept: Bool { (!directives.noStore || directives.mustUnderstand) && !VaryingFields.isUnmatchable(fields) }

  /// Returns whether the response may be used for a request of another identity.
  ///
  /// RFC 9111 §3.5, the rule for shared caches: it may if the response is `public`. A response to a user without a
  /// cookie may also be used once the same user has one. Neither makes a server trusted.
  func mayBeUsed(for other: RequestIdentity) -> Bool {
    guard identity.trust == other.trust else { return false }
    return identity.isSameUser(as: other) || directives.isShareable
      || (identity.isAnonymous && other.credentials == nil)
  }

  /// RFC 5861 §4: whether it may be used in place of an error.
  func mayReplaceError(at now: Date, request: CacheDirectives) -> Bool {
    // RFC 9111 §5.2.2.2 and §5.2.2.4: these forbid it in any case.
    guard !directives.mustRevalidate, !directives.noCache else { return false }
    let stale = -freshness.remaining(at: now)
    // §5.2.1.4: a request for a validated response does not accept another because its server does.
    let windows = [request.noCache ? nil : directives.staleIfError, request.staleIfError]
    return windows.contains { $0.map { stale <= Double($0) } ?? false }
  }
}
