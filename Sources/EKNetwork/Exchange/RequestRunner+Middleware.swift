import Foundation

extension RequestRunner {
  /// Conversions between the result of a call and the responses of its middleware.
  struct ResponseAdapter<Success: Sendable>: Sendable {
    /// Makes the response that middleware receives for a result of `next`.
    let response: @Sendable (Success) throws -> NetworkMiddlewareResponse
    /// Makes the outcome of the middleware's response to a request, given the result of `next` that it was made from:
    /// the last one if the response was not made from any, `nil` if there was none.
    let outcome: @Sendable (TransportResponse, HTTPRequest, Success?) async throws -> Outcome<Success>
  }

  /// Runs the attempts of a call, with the middleware of calls around them.
  nonisolated(nonsending) func call<Success: Sendable>(
    of source: any AttemptSource, firstBuilt: BuiltRequest? = nil, policy: RetryPolicy, over exchange: Exchange,
    adapter: @autoclosure () -> ResponseAdapter<Success>,
    load: @escaping @Sendable (HTTPRequest, Exchange) async throws -> Outcome<Success>
  ) async throws -> Success {
    guard !middleware.isEmpty else {
      return try await attempts(of: source, firstBuilt: firstBuilt, policy: policy, over: exchange, load: load)
    }
    return try await callBehindMiddleware(
      of: source, firstBuilt: firstBuilt, policy: policy, over: exchange, adapter: adapter(), load: load)
  }

  @inline(never)
  nonisolated(nonsending) private func callBehindMiddleware<Success: Sendable>(
    of source: any AttemptSource, firstBuilt: BuiltRequest?, policy: RetryPolicy, over exchange: Exchange,
    adapter: ResponseAdapter<Success>,
    load: @escaping @Sendable (HTTPRequest, Exchange) async throws -> Outcome<Success>
  ) async throws -> Success {
    let first: BuiltRequest
    if let token, firstBuilt == nil {
      first = try await build(source, with: token, until: exchange.deadline)
    } else {
      first = try firstBuilt ?? build(source)
    }
    let isolation = #isolation
    let bodyWasRead = Locked(false)
    let lent = LentCall(runner: self, source: source, policy: policy, exchange: exchange, bodyWasRead: bodyWasRead)
    let watchedLoad: @Sendable (HTTPRequest, Exchange) async throws -> Outcome<Success> = { request, exchange in
      defer { if !request.bodyIsReplayable { bodyWasRead.withLock { $0 = true } } }
      return try await load(request, exchange)
    }
    let gate = CallGate()
    let last = Locked<Success?>(nil)
    let unsent = Locked<BuiltRequest?>(first)
    var context = NetworkMiddlewareContext(hasLeftOrigin: exchange.hasLeftOrigin)
    context.limit.deadline = exchange.deadline
    let chain = MiddlewareChain(middleware: middleware, context: context)
    let before = first.request.urlRequest
    let result: Result<NetworkMiddlewareResponse, any Error>
    do {
      let response = try await chain.run(before) { request in
        let built = unsent.withLock { $0.take() }
        let changes = RequestChanges(from: before, to: request)
        let success = try await gate.run {
          try await lent.attempts(
            changes, firstBuilt: built, isolation: isolation, load: changes.replacesBody ? load : watchedLoad)
        }
        last.withLock { $0 = success }
        return try adapter.response(success)
      }
      result = .success(response)
    } catch {
      result = .failure(error)
    }
    await gate.close()
    try Task.checkCancellation()
    let returned = try result.get()
    let response = try returned.transportResponse(url: first.request.url)
    let origin = returned.result as? Success ?? last.withLock { $0 }
    let outcome = try await adapter.outcome(response, first.request, origin)
    if case .success(let success) = outcome { return success }
    let error = Self.error(of: .success(outcome), for: source)
    throw source.failure(error, of: first.request, exchange.repeatability(of: first.request, after: error))
  }
}

/// The components of a call, for use by its middleware, which runs elsewhere.
///
/// Sendable, unchecked: it is used on the caller's actor, by one user at a time, while the caller waits, which
/// `CallGate` guarantees.
private struct LentCall: @unchecked Sendable {
  let runner: RequestRunner
  let source: any AttemptSource
  let policy: RetryPolicy
  let exchange: Exchange
  /// Whether the caller's own body has been sent, and cannot be sent again.
  let bodyWasRead: Locked<Bool>

  func attempts<Success: Sendable>(
    _ changes: RequestChanges, firstBuilt: RequestRunner.BuiltRequest?, isolation: isolated (any Actor)?,
    load: @Sendable (HTTPRequest, Exchange) async throws -> RequestRunner.Outcome<Success>
  ) async throws -> Success {
    // What a new body over the same sequence would send is only the rest.
    if bodyWasRead.withLock({ $0 }), !changes.replacesBody, !source.makesNewBodies {
      throw RequestBodyError.alreadySent
    }
    var exchange = exchange
    if changes.leavesOrigin { exchange.hasLeftOrigin = true }
    if changes.addsIdempotencyKey { exchange.isIdempotent = true }
    // It is about one call of `next`: the middleware has decided to send the request again.
    exchange.wasCarriedOut?.withLock { $0 = false }
    runner.refreshFailed?.withLock { $0 = false }
    let built = try firstBuilt.map {
      RequestRunner.BuiltRequest(request: try changes.applied(to: $0.request), generation: $0.generation)
    }
    return try await runner.attempts(
      of: ChangedAttempts(source: source, changes: changes), firstBuilt: built, policy: policy, over: exchange,
      load: load)
  }
}

extension RequestRunner.ResponseAdapter where Success == RequestRunner.Fetched {
  static func collected(over exchange: Exchange) -> Self {
    Self(
      response: { success in
        var response = try NetworkMiddlewareResponse(success.response)
        response.result = success
        return response
      },
      outcome: { response, request, origin in
        var fetched: CollectedResponse
        do {
          fetched = try await response.collect()
        } catch {
          guard exchange.ignores(error) else { throw error }
          fetched = CollectedResponse(head: response.head, data: Data(), readError: error)
        }
        guard exchange.accepted.contains(fetched.head.statusCode ?? 0) else { return .refusal(fetched) }
        fetched.end = ResponseEnd(
          timings: origin?.response.timings, trailers: fetched.end?.trailers ?? HeaderFieldList())
        // Middleware that has made a response of its own has not changed where that of the network came from.
        if origin?.response.head.isBehindUnstorableRedirect == true { fetched.head.isBehindUnstorableRedirect = true }
        let sent = try origin?.sent ?? exchange.hop(request)
        return .success(RequestRunner.Fetched(fetched, sent: sent))
      })
  }
}

extension RequestRunner.ResponseAdapter where Success == TransportResponse {
  static func streamed(over exchange: Exchange) -> Self {
    Self(
      response: { try NetworkMiddlewareResponse($0) },
      outcome: { response, _, _ in
        exchange.accepted.contains(response.head.statusCode ?? 0)
          ? .success(response) : try await RequestRunner.refusal(response)
      })
  }
}
