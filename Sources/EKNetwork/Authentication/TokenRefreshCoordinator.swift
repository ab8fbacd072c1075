import Foundation

/// A provider that renews the access token when the server no longer accepts it.
///
/// ``NetworkManager`` calls it when a response is 401 (RFC 9110 §15.5.2), once for any number of simultaneous ones, and
/// sends each of their requests again when ``refreshTokenIfNeeded()`` has returned.
///
/// A class or an actor can be one; a plain class is sufficient, and need not be `Sendable`. A manager never runs two
/// calls at a time, and each call sees what the previous one has written. The calls are made in a task of the manager,
/// however, not on the actor of the sender: what the provider shares with other code, for example its token store, must
/// be safe to use from any thread, or belong to an actor.
public protocol TokenRefreshProvider: AnyObject {
  /// Obtains a new access token and stores it where the `accessToken` closures read it.
  ///
  /// It may send requests with the same manager. If one of those gets a 401 itself, it fails with
  /// ``NetworkError/unauthorized`` instead of waiting for the refresh that it is part of; so does one that the refresh
  /// waits for through a ``PrismRequestDeduplicator`` or a ``PrismOfflineQueue``. A request sent from
  /// `Task.detached` is not recognised as part of the refresh, and would wait for ever: do not send the refresh request
  /// from there. Nor may the refreshers of two managers wait for each other.
  ///
  /// The call is not cancelled when the requests that wait for it are: each of those stops waiting by itself.
  ///
  /// - Throws: Any error; all requests that wait for the token throw it. The next 401 starts another refresh.
  func refreshTokenIfNeeded() async throws

  /// Obtains a new access token, given the response that rejected the last one: its `WWW-Authenticate` (RFC 9110 §11.6.1)
  /// may name the scope that is missing. This is what the manager calls. Defaults to ``refreshTokenIfNeeded()``.
  ///
  /// - Parameter response: The 401 that began the refresh, of however many. Its body is empty if the request accepts a 401.
  func refreshToken(after response: NetworkResponse) async throws
}

extension TokenRefreshProvider {
  // The requirement documents the default.
  // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
  public func refreshToken(after response: NetworkResponse) async throws { try await refreshTokenIfNeeded() }
}

/// A coordinator that runs at most one token refresh at a time, which all requests that need the new token wait for.
///
/// A request records ``generation`` before it reads its token. The token may then be newer than the recorded generation,
/// never older; so a generation from before the last successful refresh means that the rejected token was the previous one.
final class TokenRefreshCoordinator: Sendable {
  fileprivate struct State {
    var generation: UInt64 = 0
    var refresh: EnclosingWork?
    var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    var nextWaiter: UInt64 = 0
  }

  private let state = Locked(State())

  /// The number of refreshes that have succeeded. It must be read before the token of a request.
  var generation: UInt64 { state.withLock { $0.generation } }

  var isRefreshing: Bool { state.withLock { $0.refresh != nil } }

  /// The number of requests that wait for the refresh in flight.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Waits until there is a token newer than the rejected one, joining or starting a refresh if needed.
  ///
  /// - Parameters:
  ///   - generation: The value of ``generation`` before the rejected token was read.
  ///   - response: The response that has rejected it.
  ///   - deadline: When to stop waiting, with `URLError.timedOut`; the refresh continues.
  /// - Throws: The error of the refresh; `CancellationError` at once when the task is cancelled, while the refresh
  ///   continues; `NetworkError.unauthorized` if the refresh is part of, or waits for, what the task is part of.
  nonisolated(nonsending) func refresh(
    ifNewerThan generation: UInt64, using provider: any TokenRefreshProvider,
    after response: @autoclosure () -> NetworkResponse = NetworkResponse(statusCode: 401),
    until deadline: ContinuousInstant? = nil
  ) async throws {
    let waiter = state.withLock { $0.nextWaiter.increment() }
    let new = EnclosingWork(canBeJoined: true)
    var endWait: (@Sendable () -> Void)?
    defer { endWait?() }
    var timer: Task<Void, any Error>?
    defer { timer?.cancel() }
    try await withCancellableContinuation { continuation in
      guard let refresh = state.withLock({ $0.enter(waiter, continuation, generation, new) }) else {
        continuation.resume()
        return false
      }
      // Not before: it finds the waiter, however late it is.
      timer = deadline.map { end(waiter, at: $0) }
      do throws(EnclosingWork.SelfWaitError) {
        endWait = try refresh.wait()
        if refresh === new { start(new, provider, response()) }
      } catch {
        state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume(throwing: NetworkError.unauthorized)
      }
      return true
    } leave: { [state] in
      state.withLock { $0.waiters.removeValue(forKey: waiter) }
    }
  }

  private func end(_ waiter: UInt64, at deadline: ContinuousInstant) -> Task<Void, any Error> {
    Task { [state] in
      try await Task.sleep(for: (deadline - .now).sleepable, clock: .continuous)
      let continuation = state.withLock { $0.waiters.removeValue(forKey: waiter) }
      continuation?.resume(
        throwing: URLError(.timedOut, url: nil, description: "The request timed out while its token was refreshed"))
    }
  }

  private func start(_ refresh: EnclosingWork, _ provider: any TokenRefreshProvider, _ response: NetworkResponse) {
    let transfer = ProviderTransfer(provider: provider)
    Task { @concurrent in
      let result: Result<Void, any Error>
      do {
        result = .success(
          try await refresh.run {
            try await PrismNetworkFailure.renewing { try await transfer.provider.refreshToken(after: response) }
          })
      } catch {
        result = .failure(error)
      }
      finish(with: result)
    }
  }

  private func finish(with result: Result<Void, any Error>) {
    let waiters = state.withLock { state in
      state.refresh = nil
      // After a failed one the generation stays the same, and the next 401 starts another.
      if case .success = result { state.generation += 1 }
      return exchange(&state.waiters, with: [:])
    }
    for waiter in waiters.values { waiter.resume(with: result) }
  }
}

extension TokenRefreshCoordinator {
  /// A wrapper that transfers a provider that may not be Sendable into the task of the refresh.
  ///
  /// Sendable, unchecked: no two refreshes run at a time, the lock orders them, and any other use of the provider is
  /// bound by the rule in the documentation of `TokenRefreshProvider`.
  private struct ProviderTransfer: @unchecked Sendable {
    let provider: any TokenRefreshProvider
  }
}

extension TokenRefreshCoordinator.State {
  /// Returns the refresh to wait for, which is the new one if it is to be started; `nil` if there is a newer token.
  fileprivate mutating func enter(
    _ waiter: UInt64, _ continuation: CheckedContinuation<Void, any Error>, _ generation: UInt64, _ new: EnclosingWork
  ) -> EnclosingWork? {
    // A refresh in flight is joined even with an older generation: it means that the current token was rejected as well, and
    // the request has only one more attempt.
    if refresh == nil, generation < self.generation { return nil }
    let joined = refresh ?? new
    (refresh, waiters[waiter]) = (joined, continuation)
    return joined
  }
}
