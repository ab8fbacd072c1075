import Testing

@testable import EKNetwork

struct OfflineQueueStateTests {
  private func entry(_ sequence: UInt64, priority: Int = 0, bytes: Int64 = 10) throws -> OfflineQueueEntry {
    let url = try #require(URL(string: "https://example.com/\(sequence)"))
    return OfflineQueueEntry(
      sequence: sequence, request: PrismQueuedRequest(urlRequest: URLRequest(url: url), priority: priority),
      bytes: bytes)
  }

  private func filled(_ priorities: [Int]) throws -> OfflineQueueState {
    var state = OfflineQueueState(maximumCount: 100, maximumBytes: 10_000)
    for priority in priorities { state.append(try entry(state.takeSequence(), priority: priority)) }
    return state
  }

  @Test func ordersByPriorityThenAge() throws {
    let state = try filled([0, 5, 0, -1, 5, 0])
    #expect(state.all.map(\.sequence) == [2, 5, 1, 3, 6, 4])
    #expect(state.count == 6)
    #expect(state.bytes == 60)
  }

  @Test func nextEntryFollowsPriority() throws {
    var state = try filled([0, 1, 0])
    var order: [UInt64] = []
    while let next = state.beginNext() {
      order.append(next.sequence)
      state.remove([next])
      if order.count == 1 { state.append(try entry(state.takeSequence(), priority: 9)) }
    }
    #expect(order == [2, 4, 1, 3])
    #expect(state.count == 0)
    #expect(state.bytes == 0)
  }

  /// Many priorities, or many waiting requests, cost each the same as few.
  @Test(.timeLimit(.minutes(1)), arguments: [true, false])
  func manyPrioritiesTakeLinearTime(asBatch: Bool) throws {
    let count = 20_000
    var state = OfflineQueueState(maximumCount: .max, maximumBytes: .max)
    for priority in 0..<count { state.append(try entry(state.takeSequence(), priority: priority * 7_919 % count)) }
    if asBatch {
      let all = state.beginAll()
      #expect(all.map(\.request.priority) == (0..<count).reversed())
      state.remove(all)
    } else {
      for priority in (0..<count).reversed() {
        guard let next = state.beginNext() else { break }
        if next.request.priority != priority { Issue.record("\(next.request.priority) came for \(priority)") }
        state.remove([next])
      }
    }
    #expect(state.count == 0)
    #expect(state.all.isEmpty)
  }

  @Test func failedEntryKeepsItsPlace() throws {
    var state = try filled([0, 0])
    let firstBegun = state.beginNext()
    let first = try #require(firstBegun)
    #expect(state.failed([first]).map(\.request.retryCount) == [1])
    let againBegun = state.beginNext()
    let again = try #require(againBegun)
    #expect(again.sequence == first.sequence)
    #expect(again.request.retryCount == 1)
    #expect(again.request.id == first.request.id)
    #expect(state.failed([again], counts: false).isEmpty == true)
    let last = state.beginNext()
    #expect(last?.request.retryCount == 1)
  }

  @Test func entryInFlightIsNotTaken() throws {
    var state = try filled([0, 0, 0])
    let firstBegun = state.beginNext()
    let first = try #require(firstBegun)
    #expect(state.takeAll().map(\.sequence) == [2, 3])
    #expect(state.count == 1)
    #expect(state.takeAll().isEmpty == true)
    state.remove([first])
    #expect(state.count == 0)
    #expect(state.bytes == 0)
  }

  @Test func removingBatchKeepsLaterEntries() throws {
    var state = try filled([1, 0])
    let batch = state.beginAll()
    state.append(try entry(state.takeSequence(), priority: 7))
    state.append(try entry(state.takeSequence(), priority: 0))
    state.remove(batch)
    #expect(state.all.map(\.sequence) == [3, 4])
    #expect(state.bytes == 20)
  }

  @Test func thousandsKeepTheirOrder() throws {
    var state = OfflineQueueState(maximumCount: 10_000, maximumBytes: .max)
    for _ in 0..<5_000 { state.append(try entry(state.takeSequence())) }
    for expected in 1...5_000 as ClosedRange<UInt64> {
      let nextBegun = state.beginNext()
      let next = try #require(nextBegun)
      #expect(next.sequence == expected)
      state.remove([next])
    }
  }

  @Test func limitsAreEnforced() throws {
    var state = OfflineQueueState(maximumCount: 2, maximumBytes: 25)
    #expect(throws: PrismOfflineQueueError.tooManyBytes(limit: 25)) { try state.check(bytes: 26) }
    #expect(throws: PrismOfflineQueueError.tooManyBytes(limit: 25)) { try state.check(bytes: .max) }
    state.append(try entry(1))
    try state.check(bytes: 15)
    #expect(throws: PrismOfflineQueueError.tooManyBytes(limit: 25)) { try state.check(bytes: 16) }
    state.append(try entry(2))
    #expect(throws: PrismOfflineQueueError.tooManyRequests(limit: 2)) { try state.check(bytes: 0) }
    state.remove([try entry(1)])
    try state.check(bytes: 0)
  }

  @Test func sequenceNumbersAreNeverReused() throws {
    var state = OfflineQueueState(maximumCount: 10, maximumBytes: 100, lastSequence: 41)
    #expect(state.takeSequence() == 42)
    state.append(try entry(50))
    #expect(state.takeSequence() == 51)
  }
}

struct OfflineFlushStateTests {
  private struct Doubling: PrismRetryPolicy {
    func shouldRetry(for error: Error, attempt: Int) -> Bool { false }
    func delay(for attempt: Int) -> Duration { .seconds(1 << attempt) }
  }

  @Test func backoffGrowsAndIsNotShortenedByRequests() {
    var state = OfflineFlushState(backoff: Doubling())
    #expect(state.enqueued() == true)
    #expect(state.enqueued() == false)
    #expect(state.failed(retryAfter: nil) == .seconds(1))
    #expect(state.enqueued() == false)
    #expect(state.woken() == true)
    #expect(state.woken() == false)
    #expect(state.failed(retryAfter: nil) == .seconds(2))
    #expect(state.woken() == true)
    #expect(state.failed(retryAfter: .seconds(30)) == .seconds(30))
    // The network is back: earlier failures no longer count.
    #expect(state.woken(countsFailures: false) == true)
    #expect(state.failed(retryAfter: nil) == .seconds(1))
  }

  /// What the flush has sent before may fail because of the network that was lost.
  @Test func networkThatReturnsDuringAFlushEndsTheBackoffAfterIt() {
    var state = OfflineFlushState(backoff: Doubling())
    _ = state.enqueued()
    #expect(state.woken(countsFailures: false) == false)
    #expect(state.failed(retryAfter: nil) == .zero)
    #expect(state.woken() == true)
    #expect(state.failed(retryAfter: nil) == .seconds(2))
    // The server still decides.
    #expect(state.woken() == true)
    #expect(state.woken(countsFailures: false) == false)
    #expect(state.failed(retryAfter: .seconds(7)) == .seconds(7))
    // The next flush has sent nothing before.
    #expect(state.woken() == true)
    #expect(state.woken(countsFailures: false) == false)
    #expect(state.succeeded(isEmpty: true) == false)
    #expect(state.enqueued() == true)
    #expect(state.failed(retryAfter: nil) == .seconds(1))
  }

  @Test func retryAfterIsBounded() {
    var state = OfflineFlushState(backoff: Doubling())
    _ = state.enqueued()
    #expect(state.failed(retryAfter: .seconds(86_400)) == .seconds(300))
  }

  @Test func explicitFlushEndsBackoff() {
    var state = OfflineFlushState(backoff: Doubling())
    #expect(state.flushed() == false)
    _ = state.enqueued()
    #expect(state.flushed() == false)
    #expect(state.failed(retryAfter: nil) == .seconds(1))
    #expect(state.flushed() == true)
    #expect(state.flushed() == false)
    #expect(state.enqueued() == true)
    #expect(state.failed(retryAfter: nil) == .seconds(1))
  }

  @Test func flushContinuesUntilQueueIsEmpty() {
    var state = OfflineFlushState(backoff: Doubling())
    _ = state.enqueued()
    #expect(state.succeeded(isEmpty: false) == true)
    #expect(state.enqueued() == false)
    #expect(state.succeeded(isEmpty: true) == false)
    #expect(state.enqueued() == true)
  }
}

struct OfflineFailureTests {
  private struct Hopeless: NonRetriableError {}

  @Test(arguments: [400, 402, 403, 404, 405, 409, 410, 413, 415, 422, 451, 501, 505, 301, 304])
  func statusIsPermanentFailure(_ status: Int) {
    #expect(OfflineFailure(HTTPError(statusCode: status, data: Data(), headers: [:])) == .permanent)
    let failure = PrismNetworkFailure(
      PrismNetworkError(status: status), because: HTTPError(statusCode: status, data: Data(), headers: [:]))
    #expect(OfflineFailure(failure) == .permanent)
  }

  @Test(arguments: [401, 408, 425, 429, 500, 502, 503, 504])
  func statusIsTransientFailure(_ status: Int) {
    #expect(OfflineFailure(HTTPError(statusCode: status, data: Data(), headers: [:])) == .temporary(retryAfter: nil))
    let patient = HTTPError(statusCode: status, data: Data(), headers: ["Retry-After": "7"])
    #expect(OfflineFailure(patient) == .temporary(retryAfter: .seconds(7)))
  }

  @Test func classifiesOtherErrors() {
    #expect(OfflineFailure(CancellationError()) == .cancelled)
    #expect(OfflineFailure(URLError(.cancelled)) == .cancelled)
    #expect(OfflineFailure(URLError(.notConnectedToInternet)) == .temporary(retryAfter: nil))
    #expect(OfflineFailure(URLError(.badURL)) == .permanent)
    #expect(OfflineFailure(URLError(.httpTooManyRedirects)) == .permanent)
    #expect(OfflineFailure(URLError(.dataLengthExceedsMaximum)) == .permanent)
    #expect(OfflineFailure(Hopeless()) == .permanent)
    #expect(OfflineFailure(NetworkError.unauthorized) == .temporary(retryAfter: nil))
    #expect(OfflineFailure(NetworkError.invalidURL) == .permanent)
    #expect(OfflineFailure(URLError(.cannotDecodeContentData)) == .permanent)
    #expect(OfflineFailure(DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: ""))) == .permanent)
    #expect(OfflineFailure(PrismNetworkError.noConnectivity) == .temporary(retryAfter: nil))
    #expect(OfflineFailure(PrismNetworkError.badRequest) == .permanent)
    #expect(OfflineFailure(PrismNetworkError.invalidResponse) == .temporary(retryAfter: nil))
    #expect(OfflineFailure(PrismNetworkFailure(.invalidResponse, statusCode: 404)) == .permanent)
    #expect(OfflineFailure(PrismNetworkFailure(.invalidResponse, because: Hopeless())) == .permanent)
    #expect(OfflineFailure(RequestBodyError.alreadySent) == .permanent)
    let file = URL(fileURLWithPath: "/a")
    #expect(OfflineFailure(RequestBodyError.fileNotFound(file)) == .permanent)
    #expect(OfflineFailure(RequestBodyError.fileNotReadable(file, code: EACCES)) == .permanent)
    #expect(OfflineFailure(RequestBodyError.fileNotReadable(file, code: EMFILE)) == .temporary(retryAfter: nil))
    #expect(
      OfflineFailure(RequestBodyError.fileChanged(file, announced: 1, actual: 2)) == .temporary(retryAfter: nil))
    let limit = RateLimiter.LimitError(host: "a", reason: .waitTooLong, retryAfter: .seconds(7))
    #expect(OfflineFailure(limit) == .refused(retryAfter: .seconds(7)))
    #expect(
      OfflineFailure(PrismNetworkFailure(.serverError, because: limit)) == .refused(retryAfter: .seconds(7)))
    #expect(OfflineFailure(limit).retryAfter == .seconds(7))
  }

  /// The request was not sent, or may be accepted with another token.
  @Test func errorOfTheTokenIsTemporary() {
    let refused = HTTPError(statusCode: 400, data: Data(), headers: ["Retry-After": "7"])
    #expect(OfflineFailure(TokenError(cause: refused)) == .temporary(retryAfter: .seconds(7)))
    #expect(OfflineFailure(TokenError(cause: Hopeless())) == .temporary(retryAfter: nil))
    let limit = RateLimiter.LimitError(host: "a", reason: .waitTooLong, retryAfter: .seconds(7))
    #expect(OfflineFailure(TokenError(cause: limit)) == .temporary(retryAfter: .seconds(7)))
  }
}
