import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests to a server no faster than you allow, nor than the server does: those that come too soon wait for their
/// turn, in the order in which they came.
///
/// What it goes by, for each origin:
/// - a limit of your own: at most so many requests in any period;
/// - `Retry-After` (RFC 9110 §10.2.3) of a response with status 429 or 503: nothing is sent for so long;
/// - `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers), the fields of its earlier versions, and
///   `X-RateLimit-Remaining`, `-Reset` and `-Limit`: once nothing is left of a quota, requests wait until it is full
///   again. Those under way count as if each takes its share.
///
/// After a pause, and when a quota is full again, as many requests go as the quota has, one if that is not known, and the
/// rest when a response says that it is over. Whatever the server says, it is believed for `longestPause` at most, and no
/// request waits longer than `maximumWait`. Cancelling the task of a request that waits ends it at once, and its place is
/// the next one's.
///
/// It belongs into ``NetworkManager/attemptMiddleware``, so that every attempt and every redirect counts. Several managers
/// may share one. A request that the ``HTTPCache`` serves counts, too; what the server said with a stored response does not.
public final class RateLimiter: NetworkMiddleware {
  /// What a request is refused with that would have to wait too long. It is not tried again by a retry policy.
  public struct LimitError: NonRetriableError, TemporaryRefusal, LocalizedError, Equatable, Sendable {
    /// Why a request does not wait for its turn.
    public enum Reason: Sendable, Equatable {
      /// Its turn would come later than `maximumWait`, or has not come until then.
      case waitTooLong
      /// As many as may wait do so already.
      case tooManyWaiting
    }

    /// The host that the limit is for.
    public let host: String
    /// Why the request does not wait.
    public let reason: Reason
    /// How long it would have to wait, as far as that is known: at least this, from now.
    public let retryAfter: Duration

    /// An error as the library would throw it, for tests.
    public init(host: String, reason: Reason, retryAfter: Duration) {
      self.host = host
      self.reason = reason
      self.retryAfter = retryAfter
    }

    /// What happened, in a sentence.
    public var errorDescription: String? {
      switch reason {
      case .waitTooLong: "The rate limit of \(host) leaves no room for this request in time"
      case .tooManyWaiting: "Too many requests wait for the rate limit of \(host)"
      }
    }
  }

  let line: RateLimitLine
  private let client: (@Sendable (URLRequest) -> String)?
  private let clock: RateLimitClock

  /// - Parameters:
  ///   - requests: How many requests may be sent to one origin in any `period`, at most 100,000. Defaults to `nil`: only
  ///     the server's word counts.
  ///   - period: The time for that. Defaults to one second.
  ///   - maximumWait: The longest that a request waits for its turn; one that would have to wait longer is refused at
  ///     once. Zero lets none wait. Defaults to 60 seconds.
  ///   - maximumWaiting: How many requests may wait for one origin, at most a million. Defaults to 1,000.
  ///   - longestPause: The longest time of a server that is believed. Defaults to 300 seconds.
  ///   - client: Whose request it is, for a manager that sends the requests of several users: each has limits of its own
  ///     then, as servers count for each. It must return quickly. Defaults to `nil`: all are one client's.
  public convenience init(
    requests: Int? = nil, per period: Duration = .seconds(1), maximumWait: Duration = .seconds(60),
    maximumWaiting: Int = 1_000, longestPause: Duration = .seconds(300),
    client: (@Sendable (URLRequest) -> String)? = nil
  ) {
    let rules = RateLimitRules(
      requests: requests, period: period, maximumWait: maximumWait, maximumWaiting: maximumWaiting,
      longestPause: longestPause)
    self.init(rules, clock: RateLimitClock(ContinuousClock()), client: client)
  }

  /// For tests: any time.
  init(_ rules: RateLimitRules, clock: RateLimitClock, client: (@Sendable (URLRequest) -> String)? = nil) {
    line = RateLimitLine(rules, clock: clock)
    self.clock = clock
    self.client = client
  }

  /// Sends the request on when its turn has come.
  ///
  /// - Throws: ``LimitError``, `CancellationError` when the task is cancelled while it waits, or what `next` throws.
  public func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    guard let origin = request.url.flatMap({ Origin($0) }) else { return try await next(request) }
    let key = RateLimitLine.Key(origin: origin, client: client?(request))
    guard try await line.enter(key) else { return try await next(request) }
    do {
      let response = try await next(request)
      let report = RateLimitReport(status: response.statusCode, now: clock.date()) {
        response.value(forHTTPHeaderField: $0)
      }
      line.leave(key, report: report)
      return response
    } catch {
      // Another middleware may have refused it.
      line.leave(key, report: error is any TemporaryRefusal ? .notSent : nil)
      throw error
    }
  }
}
