import EKNetwork
import Testing

struct RetryPolicyTests {
  private struct Oops: Error {}
  private struct Final: NonRetriableError {}

  @Test func defaultsMatchDocumentation() {
    let policy = RetryPolicy()
    #expect(policy.maxRetryCount == 0)
    #expect(policy.delay == 1)
    #expect(policy.maxRetryAfter == 60)
    #expect(RetryPolicy(maxRetryCount: 2, delay: 0.5, shouldRetry: { $0 is Oops }).shouldRetry(Oops()))
    #expect(!RetryPolicy(maxRetryCount: 2) { !($0 is Oops) }.shouldRetry(Oops()))
  }

  @Test func defaultRetriesAllButPermanentErrors() {
    let table: [(any Error, Bool)] = [
      (Oops(), true),
      (Final(), false),
      (CancellationError(), false),
      (URLError(.cancelled), false),
      (NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled), false),
      (NSError(domain: "else", code: NSURLErrorCancelled), true),
      (URLError(.userAuthenticationRequired), false),
      (NSError(domain: NSURLErrorDomain, code: NSURLErrorUserAuthenticationRequired), false),
      (URLError(.timedOut), true),
      (URLError(.userCancelledAuthentication), true),
      (NetworkError.unauthorized, false),
      (NetworkError.emptyResponse, true),
      (HTTPError(statusCode: 500, data: Data(), headers: [:]), true),
      (HTTPError(statusCode: 404, data: Data(), headers: [:]), true),
    ]
    for (error, expected) in table { #expect(RetryPolicy().shouldRetry(error) == expected, "\(error)") }
  }

  @Test func transientFailuresRetriesTransientErrorsOnly() {
    let table: [(any Error, Bool)] = [
      (Oops(), false),
      (Final(), false),
      (CancellationError(), false),
      (URLError(.cancelled), false),
      (URLError(.timedOut), true),
      (URLError(.networkConnectionLost), true),
      (URLError(.secureConnectionFailed), false),
      (URLError(.unsupportedURL), false),
      (NetworkError.unauthorized, false),
      (HTTPError(statusCode: 503, data: Data(), headers: [:]), true),
      (HTTPError(statusCode: 429, data: Data(), headers: [:]), true),
      (HTTPError(statusCode: 501, data: Data(), headers: [:]), false),
      (HTTPError(statusCode: 404, data: Data(), headers: [:]), false),
    ]
    for (error, expected) in table {
      #expect(RetryPolicy.transientFailures.shouldRetry(error) == expected, "\(error)")
    }
  }

  @MainActor @Test func presetsWorkFromAnyActor() {
    var count = 0
    var policy = RetryPolicy.exponentialBackoff(maxRetryCount: 5, baseDelay: 0.1) { _ in
      count += 1
      return false
    }
    policy.maxRetryAfter = 5
    #expect(!policy.shouldRetry(Oops()))
    #expect(count == 1)
    #expect(policy.delay == 0.1)
    #expect(RetryPolicy.transientFailures.maxRetryCount == 3)
  }
}
