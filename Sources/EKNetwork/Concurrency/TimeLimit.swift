/// Work that has to end in time. What comes first decides, its end or the limit: work that has ended is never stopped
/// afterwards, however late the timer's task learns that it was cancelled.
enum TimeLimit {
  /// Runs work, and throws `error` when it has not ended in time.
  ///
  /// - Parameter stop: Makes the work end, with whatever it throws then.
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

    /// Whether this is what decides.
    mutating func take(_ decision: Decision) -> Bool {
      guard self == .open else { return false }
      self = decision
      return true
    }
  }
}
