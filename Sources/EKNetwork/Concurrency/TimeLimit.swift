/// A time limit for work. Whichever comes first decides, the end of the work or the limit: work that has ended is never
/// stopped afterwards, however late the timer's task notices its cancellation.
enum TimeLimit {
  /// Runs work, and throws `error` if it has not ended in time.
  ///
  /// - Parameter stop: Called when the time is up, to make the work end. What the work then throws is ignored.
  static func run<Result: Sendable>(
    _ limit: Duration, clock: any Clock<Duration>, error timeout: any Error, stop: @escaping @Sendable () -> Void,
    _ work: () async throws -> Result
  ) async throws -> Result {
    let decision = Locked(Decision.open)
    let timer = Task {
      guard (try? await clock.sleep(for: limit.sleepable)) != nil, decision.withLock({ $0.take(.expired) }) else {
        return
      }
      stop()
    }
    defer { timer.cancel() }
    do {
      let result = try await work()
      guard decision.withLock({ $0.take(.ended) }) else { throw timeout }
      return result
    } catch {
      throw decision.withLock({ $0 == .expired }) ? timeout : error
    }
  }

  private enum Decision {
    case open, ended, expired

    /// Sets the decision if it is still open. Returns whether it did.
    mutating func take(_ decision: Decision) -> Bool {
      guard self == .open else { return false }
      self = decision
      return true
    }
  }
}
