import Foundation

/// A rate limiter: sends requests to a server no faster than you and the server allow. Requests that come too early
/// wait for their turn, in the order of arrival.
///
/// It applies these limits to each origin:
/// - your own limit: a maximum number of requests in any period;
/// - `Retry-After` (RFC 9110 §10.2.3) of a response with status 429 or 503: nothing is sent for that time;
/// - `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers), the fields of its earlier versions, and
///   `X-RateLimit-Remaining`, `-Reset` and `-Limit`: once a quota is used up, requests wait until it is full again.
///   Requests under way count towards it.
///
/// After a pause, and when a quota is full again, as many requests are sent as the quota allows, one if that is
/// unknown, and the rest when the response to one of them shows that the limit is over. A time from the server is limited to
/// `longestPause`, and no request waits longer than `maximumWait`, or than its ``NetworkRequest/totalTimeout`` allows:
/// it then fails with `URLError.timedOut`. Cancelling the task of a waiting request ends it at once and frees its place.
///
/// Add it to ``NetworkManager/attemptMiddleware``, so that every attempt and every redirect counts. A request that is
/// sent inside `next`, by another middleware or a token refresh, counts and does not wait. Several managers may share
/// one. A request that the ``HTTPCache`` or a ``PrismCachePolicy`` serves counts too; the limits in a stored response are
/// ignored.
public final class RateLimiter: NetworkMiddleware, AdmissionMiddleware {
  /// The error of a request that would have to wait too long. A retry policy does not retry it.
  public struct LimitError: NonRetriableError, ClassifiedError, LocalizedError, Equatable, Sendable {
    /// The reason why a request does not wait for its turn.
    public enum Reason: Sendable, Equatable {
      /// Its turn would come later than `maximumWait`, or has not come by then; or it would come after the end of the
      /// request's ``NetworkRequest/totalTimeout``.
      case waitTooLong
      /// The maximum number of requests is waiting already.
      case tooManyWaiting
    }

    /// The host that the limit applies to.
    public let host: String
    /// The reason why the request does not wait.
    public let reason: Reason
    /// The minimum time, from now, that the request would have to wait, as far as it is known.
    public let retryAfter: Duration

    /// Creates an error as the library throws it, for tests.
    public init(host: String, reason: Reason, retryAfter: Duration) {
      self.host = host
      self.reason = reason
      self.retryAfter = retryAfter
    }

    var failureKind: FailureKind { .refused(retryAfter) }

    /// A description of the error.
    public var errorDescription: String? {
      switch reason {
      case .waitTooLong: "The rate limit of \(host) would delay the request for longer than allowed"
      case .tooManyWaiting: "Too many requests wait for the rate limit of \(host)"
      }
    }
  }

  /// Identifies what runs inside `next`, which may have to end before any other request is sent.
  private struct Admission: Sendable {
    let limiter: ObjectIdentifier
    let key: RateLimitLine.Key
  }

  let line: RateLimitLine
  private let client: (@Sendable (URLRequest) -> String)?

  /// - Parameters:
  ///   - requests: The maximum number of requests to one origin in any `period`, from 1 to 100,000. Defaults to `nil`: only
  ///     the server's limits apply.
  ///   - period: The period of that limit. Defaults to one second.
  ///   - maximumWait: The maximum time that a request waits for its turn; one that would have to wait longer is refused
  ///     at once. With zero, none waits. Defaults to 60 seconds.
  ///   - maximumWaiting: The maximum number of requests that wait for one origin, up to a million. Defaults to 1,000.
  ///   - longestPause: The maximum for a time that a server requests. Defaults to 300 seconds.
  ///   - client: Returns the client of a request, for a manager that sends the requests of several users: each client
  ///     then has its own limits, as servers count them separately. It must return quickly. Defaults to `nil`: all
  ///     requests belong to one client.
  public convenience init(
    requests: Int? = nil, per period: Duration = .seconds(1), maximumWait: Duration = .seconds(60),
    maximumWaiting: Int = 1_000, longestPause: Duration = .seconds(300),
    client: (@Sendable (URLRequest) -> String)? = nil
  ) {
    let rules = RateLimitRules(
      requests: requests, period: period, maximumWait: maximumWait, maximumWaiting: maximumWaiting,
      longestPause: longestPause)
    self.init(rules, clock: ContinuousClock().stopwatch(), client: client)
  }

  init(_ rules: RateLimitRules, clock: ElapsedTime, client: (@Sendable (URLRequest) -> String)? = nil) {
    line = RateLimitLine(rules, clock: clock)
    self.client = client
  }

  /// Passes the request on when its turn has come.
  ///
  /// - Throws: ``LimitError``, `URLError.timedOut` at the end of the request's whole time, `CancellationError` when the
  ///   task is cancelled while it waits, or the error of `next`.
  public func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    guard let origin = request.url.flatMap({ Origin($0) }) else { return try await next(request) }
    let key = RateLimitLine.Key(origin: origin, client: client?(request))
    let admission = Admission(limiter: ObjectIdentifier(self), key: key)
    let isInside = EnclosingWork.mark(Admission.self) { $0.limiter == admission.limiter && $0.key == key } != nil
    guard
      let generation = try await line.enter(
        key, isInside: isInside, for: request.url, by: context.limit.deadline)
    else {
      return try await next(request)
    }
    do {
      let response = try await EnclosingWork(canBeJoined: false, mark: admission).run { try await next(request) }
      let report = RateLimitReport(status: response.statusCode, now: Date()) { response.value(forHTTPHeaderField: $0) }
      line.leave(key, of: generation, report: response.isStored ? .notSent : report)
      return response
    } catch {
      // Another middleware may have refused it.
      line.leave(key, of: generation, report: FailureKind(error).wasNotSent ? .notSent : nil)
      throw error
    }
  }
}

/// The limits for further requests that a response reports.
struct RateLimitReport: Equatable, Sendable {
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

  static let notSent = RateLimitReport(isOfNothingSent: true)
}

extension RateLimitReport {
  init(status: Int, now: Date, field: (String) -> String?) {
    // A stored response reports the limits of an earlier request (RFC 9211 §2.1).
    if let caches = field("Cache-Status"), Self.isHit(caches) {
      isOfNothingSent = true
      return
    }
    isRefusal = status == 429
    if status == 429 || status == 503, let value = field("Retry-After") {
      pause = RetryAfter.delay(value, now: now)
    }
    quotas = Array(RateLimitFields.quotas(now: now, field: field).prefix(Self.maximumQuotas))
  }

  private static func isHit(_ value: String) -> Bool {
    FieldList.members(value).contains { member in
      // The second is that of the library's own cache, for a response that stands for an error of the server (RFC 5861 §4).
      member.split(separator: ";").dropFirst().contains {
        ["hit", "detail=stale-if-error"].contains($0.trimmingBlanks())
      }
    }
  }
}
