import Foundation

/// The token of a call, of either form of the closure that returns it.
struct AccessToken {
  /// Returns the token when a request is built.
  let read: (() -> String?)?
  /// Obtains it first, for a closure that is asynchronous.
  let renewal: AsyncToken?

  init(_ closure: (() -> String?)?) {
    read = closure
    renewal = nil
  }

  init(_ closure: @escaping @Sendable () async throws -> String?) {
    let token = AsyncToken(closure)
    read = { token.current }
    renewal = token
  }
}

/// An asynchronous closure, and the token that it has returned for the attempt that is being built.
final class AsyncToken: Sendable {
  private struct State {
    var current: String?
    var hasFailed = false
  }

  private let closure: @Sendable () async throws -> String?
  private let state = Locked(State())

  init(_ closure: @escaping @Sendable () async throws -> String?) {
    self.closure = { try await PrismNetworkFailure.renewing { try await closure() } }
  }

  /// What the closure has returned last.
  var current: String? { state.withLock { $0.current } }
  /// Whether the closure has thrown when it was last called. Its error is final, whatever it would mean if a request had failed
  /// with it.
  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  /// Calls the closure, which is cancelled with the caller and at the deadline, and then not waited for.
  ///
  /// - Throws: The closure's error; `CancellationError` at once when the task is cancelled; `URLError.timedOut`.
  nonisolated(nonsending) func obtain(until deadline: ContinuousInstant? = nil) async throws {
    do {
      let timeout = URLError(.timedOut, url: nil, description: "The request timed out before it had its access token")
      let token = try await withPromptCancellation(by: deadline, error: timeout, closure)
      state.withLock { $0 = State(current: token) }
    } catch {
      state.withLock { $0.hasFailed = true }
      throw error
    }
  }
}

/// The error of the closure for the token, or of its refresh, on its way through code that repeats what has failed.
struct TokenError: ClassifiedError {
  let cause: any Error

  var failureKind: FailureKind { .unclear }
}
