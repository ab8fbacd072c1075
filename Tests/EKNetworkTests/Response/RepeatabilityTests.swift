import Testing

@testable import EKNetwork

/// The one table of failures, and the one rule whether a request may be sent again.
struct RepeatabilityTests {
  private struct Unknown: Error {}
  private struct Final: NonRetriableError {}

  @Test(arguments: [
    (200, FailureKind.completed), (204, .completed), (301, .permanent), (400, .permanent), (401, .unauthorized),
    (404, .permanent), (408, .temporary), (422, .permanent), (425, .temporary), (429, .temporary), (500, .temporary),
    (501, .permanent), (502, .temporary), (503, .temporary), (504, .temporary), (505, .permanent), (520, .serverError),
    (599, .serverError), (600, .unclear), (0, .unclear),
  ])
  func statusHasItsKind(_ status: Int, _ kind: FailureKind) {
    #expect(FailureKind(status: status) == kind)
    let error = HTTPError(statusCode: status, data: Data(), headers: [:])
    #expect(FailureKind(error) == kind)
    #expect(FailureKind(PrismNetworkFailure(causedBy: error, url: nil)) == kind || kind == .unclear)
    #expect(FailureKind(WebSocketError.refused(status: status, headers: [:])) == kind)
    #expect(RetryPolicy.isTransient(error) == (kind == .temporary))
  }

  @Test func errorHasItsKind() {
    let refusal = CircuitBreaker.OpenError(host: "a", retryAfter: .seconds(3))
    let decoding = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: ""))
    let table: [(any Error, FailureKind)] = [
      (Unknown(), .unclear), (Final(), .permanent), (CancellationError(), .cancelled),
      (URLError(.cancelled), .cancelled),
      (URLError(.timedOut), .temporary), (NSError(domain: NSURLErrorDomain, code: NSURLErrorTimedOut), .temporary),
      (URLError(.badURL), .permanent), (URLError(.serverCertificateUntrusted), .unclear),
      (URLError(.cannotDecodeContentData), .completed), (decoding, .completed), (refusal, .refused(.seconds(3))),
      (NetworkError.unauthorized, .unauthorized), (NetworkError.emptyResponse, .completed),
      (NetworkError.invalidURL, .permanent), (NetworkError.invalidResponse, .unclear),
      (PrismNetworkError.noConnectivity, .temporary), (PrismNetworkError.serverError, .temporary),
      (PrismNetworkError.forbidden, .permanent), (PrismNetworkError.invalidResponse, .unclear),
      (PrismNetworkFailure(.invalidResponse, because: decoding), .completed),
      (PrismNetworkFailure(.serverError, because: Unknown(), statusCode: 200), .completed),
      (PrismNetworkFailure(.serverError, because: refusal), .refused(.seconds(3))),
      (PrismNetworkFailure(.serverError, because: Unknown(), statusCode: 422), .permanent),
      (PrismNetworkFailure(.noConnectivity, because: Unknown()), .temporary),
      (WebSocketError.timedOut, .temporary), (WebSocketError.connectionLost(reason: ""), .temporary),
      (WebSocketError.closed(code: .normalClosure, reason: ""), .completed), (WebSocketError.invalidURL, .permanent),
      (EventStreamError.unexpectedContentType(nil), .completed), (RequestBodyError.alreadySent, .permanent),
      (PrismGraphQLSubscriptionError.notAcknowledged, .temporary),
    ]
    for (error, kind) in table { #expect(FailureKind(error) == kind, "\(error)") }
  }

  /// Whether a request may be repeated at all, and without harm: if it is idempotent, and if it is not.
  @Test func exchangeHasItsAnswer() {
    let complete = URLError(.cannotDecodeContentData)
    let table: [(any Error, wasCarriedOut: Bool, idempotent: (Bool, Bool), other: (Bool, Bool))] = [
      (URLError(.networkConnectionLost), false, (true, true), (true, false)),
      (URLError(.networkConnectionLost), true, (true, true), (false, false)),
      (URLError(.cannotConnectToHost), false, (true, true), (true, true)),
      (URLError(.timedOut), false, (true, true), (true, false)),
      (URLError(.timedOut, url: nil, cause: UnsentRequestError()), false, (true, true), (true, true)),
      (URLError(.cannotConnectToHost), true, (true, true), (false, false)),
      (complete, false, (false, true), (false, false)), (CancellationError(), false, (false, true), (false, false)),
      (HTTPError(statusCode: 503, data: Data(), headers: [:]), false, (true, true), (true, true)),
      (HTTPError(statusCode: 500, data: Data(), headers: [:]), false, (true, true), (true, false)),
      (HTTPError(statusCode: 303, data: Data(), headers: [:]), false, (true, true), (false, false)),
      (HTTPError(statusCode: 307, data: Data(), headers: [:]), false, (true, true), (true, true)),
      (NetworkError.unauthorized, false, (true, true), (true, true)),
      (CircuitBreaker.OpenError(host: "a", retryAfter: .zero), false, (true, true), (true, true)),
    ]
    for row in table {
      for (isIdempotent, expected) in [(true, row.idempotent), (false, row.other)] {
        let answer = Repeatability(after: row.0, isIdempotent: isIdempotent, wasCarriedOut: row.wasCarriedOut)
        #expect((!answer.isForbidden, answer.isHarmless) == expected, "\(row) \(isIdempotent)")
      }
    }
    #expect(!Repeatability.completed(isIdempotent: true).isForbidden)
    #expect(Repeatability.completed(isIdempotent: false).isForbidden)
  }

  @Test func failureSaysWhetherItIsHarmlessToRepeat() {
    var failure = PrismNetworkFailure(.serverError, statusCode: 503)
    #expect(failure.isHarmlessToRepeat)
    failure = PrismNetworkFailure(.serverError, statusCode: 500)
    #expect(!failure.isHarmlessToRepeat, "nothing is known of the request")
    failure.method = "POST"
    #expect(!failure.isHarmlessToRepeat)
    failure.method = "PUT"
    #expect(failure.isHarmlessToRepeat)
    failure.repeatability = Repeatability(status: 500, isIdempotent: false)
    #expect(!failure.isHarmlessToRepeat)
    failure.repeatability = Repeatability(status: 500, isIdempotent: true)
    #expect(failure.isHarmlessToRepeat)
    PrismNetworkFailure.$operationIsHarmless.withValue(false) { #expect(!failure.isHarmlessToRepeat) }
  }
}
