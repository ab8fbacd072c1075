import Foundation

/// What a response says about further requests to its server.
struct RateLimitReport: Equatable, Sendable {
  /// What is left of a quota.
  struct Quota: Equatable, Sendable {
    var name = ""
    var remaining: Int
    /// From now.
    var reset: Duration?
    var limit: Int?
  }

  /// Whether the server has not seen the request: a cache has responded, or something has refused to send it.
  var isOfNothingSent = false
  /// Whether the request was one too many (RFC 6585 §4).
  var isRefusal = false
  /// How long nothing is to be sent.
  var pause: Duration?
  var quotas: [Quota] = []

  /// A server may have several; more than this is not meant seriously.
  static let maximumQuotas = 8

  /// Of a request that was not sent.
  static let notSent: RateLimitReport = {
    var report = RateLimitReport()
    report.isOfNothingSent = true
    return report
  }()

  init(isRefusal: Bool = false, pause: Duration? = nil, quotas: [Quota] = []) {
    self.isRefusal = isRefusal
    self.pause = pause
    self.quotas = quotas
  }

  /// - Parameters:
  ///   - field: The value of a header field by its name.
  ///   - now: What dates are compared with.
  init(status: Int, now: Date, field: (String) -> String?) {
    // What a cache has stored was said to another request (RFC 9211 §2.1).
    if let caches = field("Cache-Status"), Self.isHit(caches) {
      isOfNothingSent = true
      return
    }
    isRefusal = status == 429
    if status == 429 || status == 503, let value = field("Retry-After") {
      pause = RetryAfter(value, now: now)?.delay(from: now)
    }
    quotas = Array(RateLimitFields.quotas(now: now, field: field).prefix(Self.maximumQuotas))
  }

  private static func isHit(_ value: String) -> Bool {
    FieldList.members(value).contains { member in
      member.split(separator: ";").dropFirst().contains { $0.trimmingBlanks() == "hit" }
    }
  }
}
