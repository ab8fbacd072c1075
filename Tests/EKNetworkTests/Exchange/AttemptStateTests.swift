import Testing

@testable import EKNetwork

struct AttemptStateTests {
  private struct Failure: Error {}
  private struct Refusal: NonRetriableError {}

  /// The outcome of an attempt. Actions are text in the tables.
  private enum Event: Sendable {
    case status(
      Int, retryAfter: Duration? = nil, replayable: Bool = true, processed: Bool = false, expired: Bool = false)
    case error(any Error & Sendable, replayable: Bool = true, cancelled: Bool = false, processed: Bool = false)
  }

  private struct Row: Sendable {
    let name: String
    var retries = 0
    var allowsRetry = true
    var hasRefresher = false
    var accepted = StatusCodes.successful
    let events: [Event]
    let actions: [String]
  }

  private static let rows: [Row] = [
    Row(name: "an accepted status", events: [.status(200)], actions: ["deliver"]),
    Row(
      name: "an accepted error is not retried", retries: 2, accepted: [503], events: [.status(503)],
      actions: ["deliver"]),
    Row(
      name: "a success that is not accepted is not retried", retries: 2, accepted: [204], events: [.status(200)],
      actions: ["fail HTTP 200"]),
    Row(name: "an accepted 401 without a refresher", accepted: [401], events: [.status(401)], actions: ["deliver"]),
    Row(
      name: "an accepted 401 twice", hasRefresher: true, accepted: [401], events: [.status(401), .status(401)],
      actions: ["refresh", "deliver"]),
    Row(
      name: "an accepted 401 where nothing is allowed", allowsRetry: false, hasRefresher: true, accepted: [401],
      events: [.status(401)], actions: ["deliver"]),
    Row(
      name: "an accepted 401 after the request was processed", hasRefresher: true, accepted: [401],
      events: [.status(401, processed: true)], actions: ["deliver"]),
    Row(name: "an error", events: [.status(500)], actions: ["fail HTTP 500"]),
    Row(name: "401 without a refresher", events: [.status(401)], actions: ["fail unauthorized"]),
    Row(name: "401", hasRefresher: true, events: [.status(401), .status(200)], actions: ["refresh", "deliver"]),
    Row(
      name: "401 twice", hasRefresher: true, events: [.status(401), .status(401)],
      actions: ["refresh", "fail unauthorized"]),
    Row(
      name: "401 of a renewed token that was accepted before", hasRefresher: true,
      events: [.status(401), .status(401, expired: true), .status(401)],
      actions: ["refresh", "refresh", "fail unauthorized"]),
    Row(
      name: "401 of a token that was accepted before, where nothing is allowed", allowsRetry: false, hasRefresher: true,
      events: [.status(401, expired: true)], actions: ["fail unauthorized"]),
    Row(
      name: "401 twice is not retried", retries: 5, hasRefresher: true, events: [.status(401), .status(401)],
      actions: ["refresh", "fail unauthorized"]),
    Row(
      name: "401 where nothing is allowed", retries: 5, allowsRetry: false, hasRefresher: true,
      events: [.status(401)], actions: ["fail unauthorized"]),
    Row(
      name: "401 with a stream that is used up", hasRefresher: true, events: [.status(401, replayable: false)],
      actions: ["fail unauthorized"]),
    Row(
      name: "403 is no 401", hasRefresher: true, events: [.status(403)], actions: ["fail HTTP 403"]),
    Row(
      name: "the refresh is not a retry", retries: 1, hasRefresher: true,
      events: [.status(401), .status(500), .status(200)], actions: ["refresh", "retry 2.0 seconds", "deliver"]),
    Row(
      name: "a retry leaves the refresh", retries: 1, hasRefresher: true,
      events: [.status(500), .status(401), .status(200)], actions: ["retry 2.0 seconds", "refresh", "deliver"]),
    Row(
      name: "as many retries as granted", retries: 2, events: [.status(500), .status(502), .status(503)],
      actions: ["retry 2.0 seconds", "retry 2.0 seconds", "fail HTTP 503"]),
    Row(
      name: "retries of what broke", retries: 1, events: [.error(Failure()), .error(Failure())],
      actions: ["retry 2.0 seconds", "fail Failure()"]),
    Row(
      name: "retries that are not allowed", retries: 2, allowsRetry: false, events: [.status(500)],
      actions: ["fail HTTP 500"]),
    Row(name: "a final error", retries: 2, events: [.error(Refusal())], actions: ["fail Refusal()"]),
    Row(
      name: "a body that is used up", retries: 2, events: [.error(Failure(), replayable: false)],
      actions: ["fail Failure()"]),
    Row(
      name: "a cancelled task", retries: 2, events: [.error(Failure(), cancelled: true)],
      actions: ["fail CancellationError()"]),
    Row(
      name: "a cancellation", retries: 2, events: [.error(CancellationError())], actions: ["fail CancellationError()"]),
    Row(
      name: "the server asks for time", retries: 3,
      events: [.status(503, retryAfter: .seconds(9)), .status(503, retryAfter: .seconds(1)), .status(503)],
      actions: ["retry 9.0 seconds", "retry 2.0 seconds", "retry 2.0 seconds"]),
    Row(
      name: "the server asks for too much", retries: 1, events: [.status(503, retryAfter: .seconds(100_000))],
      actions: ["retry 60.0 seconds"]),
    Row(
      name: "401 after the request was processed", retries: 5, hasRefresher: true,
      events: [.status(401, processed: true)], actions: ["fail unauthorized"]),
    Row(
      name: "an error after the request was processed", retries: 5, events: [.status(503, processed: true)],
      actions: ["fail HTTP 503"]),
    Row(
      name: "a lost connection after the request was processed", retries: 5,
      events: [.error(Failure()), .error(Failure(), processed: true)], actions: ["retry 2.0 seconds", "fail Failure()"]),
    Row(
      name: "a complete response that cannot be decoded", retries: 5,
      events: [.error(URLError(.cannotDecodeContentData))],
      actions: ["fail \(URLError(.cannotDecodeContentData))"]),
    Row(
      name: "a cancelled task after the request was processed", retries: 5,
      events: [.error(Failure(), cancelled: true, processed: true)], actions: ["fail CancellationError()"]),
  ]

  @Test(arguments: rows.indices) func everyEventHasItsAction(_ index: Int) {
    let row = Self.rows[index]
    var state = AttemptState(
      policy: RetryPolicy(maxRetryCount: row.retries, delay: 2), allowsRetry: row.allowsRetry,
      hasRefresher: row.hasRefresher)
    let actions = row.events.map { Self.text(Self.feed($0, to: &state, accepting: row.accepted)) }
    #expect(actions == row.actions, "\(row.name)")
  }

  /// The error of a response may be costly, since the user's `errorDecoder` creates it.
  @Test func errorsAreCreatedOnlyWhenThrown() {
    var made = 0
    var state = AttemptState(policy: RetryPolicy(), allowsRetry: true, hasRefresher: true)
    func status(_ status: Int) {
      _ = state.received(
        status: status, isAccepted: status == 200,
        repeatability: Repeatability(status: status, isIdempotent: true), bodyIsReplayable: true, retryAfter: nil
      ) { _ in
        made += 1
        return Failure()
      }
    }
    status(200)
    status(401)
    #expect(made == 0)
    status(500)
    #expect(made == 1)
  }

  private static func feed(
    _ event: Event, to state: inout AttemptState, accepting accepted: StatusCodes
  ) -> AttemptState.Action {
    switch event {
    case .status(let status, let retryAfter, let replayable, let processed, let expired):
      state.received(
        status: status, isAccepted: accepted.contains(status), tokenHasExpired: expired,
        repeatability: Repeatability(status: status, isIdempotent: !processed, wasCarriedOut: processed),
        bodyIsReplayable: replayable, retryAfter: retryAfter
      ) { _ in
        if status == 401 { return NetworkError.unauthorized }
        return HTTPError(statusCode: status, data: Data(), headers: [:])
      }
    case .error(let error, let replayable, let cancelled, let processed):
      state.failed(
        with: error, repeatability: Repeatability(after: error, isIdempotent: !processed, wasCarriedOut: processed),
        bodyIsReplayable: replayable, wasCancelled: cancelled, retryAfter: nil)
    }
  }

  private static func text(_ action: AttemptState.Action) -> String {
    switch action {
    case .deliver: "deliver"
    case .refreshToken: "refresh"
    case .retry(let delay, _): "retry \(delay)"
    case .fail(let error as HTTPError): "fail HTTP \(error.statusCode)"
    case .fail(let error): "fail \(error)"
    }
  }
}
