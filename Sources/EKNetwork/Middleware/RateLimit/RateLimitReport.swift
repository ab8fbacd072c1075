import Foundation

/// The limits for further requests that a response reports.
struct RateLimitReport: Equatable, Sendable {
  /// The remainder of a quota.
  struct Quota: Equatable, Sendable {
    var name = ""
    var remaining: Int
    /// The time until the quota is full again.
    var reset: Duration?
    var limit: Int?
  }

  /// Whether the request did not reach the server: a cache responded, or sending it was refused.
  var isOfNothingSent = false
  /// Whether the server refused the request as one too many (RFC 6585 §4).
  var isRefusal = false
  /// How long to send nothing.
  var pause: Duration?
  var quotas: [Quota] = []

  /// The maximum number of quotas of a server; more are ignored.
  static let maximumQuotas = 8

  /// The report for a request that was not sent.
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
  ///   - field: Returns the value of a header field by its name.
  ///   - now: The date that dates in header fields are compared with.
  init(status: Int, now: Date, field: (String) -> String?) {
    // A stored response reports the limits of an earlier request (RFC 9211 §2.1).
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
