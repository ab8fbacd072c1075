#if !canImport(Darwin)
  import Foundation
  import FoundationNetworking

  extension SequenceBody {
    /// Writes the sequence to a file, within the time for the whole request: a sequence may stop without an end.
    ///
    /// - Throws: `URLError.timedOut` after the deadline, when the sequence is cancelled.
    func spooled(by deadline: ContinuousClock.Instant?, for url: URL?) async throws -> FileSegment {
      guard let deadline else { return try await spooled() }
      // A task of its own, which can be cancelled without the caller's.
      let spooling = Task { try await spooled() }
      return try await withTaskCancellationHandler {
        try await TimeLimit.run(
          deadline - .now, clock: ContinuousClock(), error: URLError.timedOut(url), stop: spooling.cancel
        ) { try await spooling.value }
      } onCancel: {
        spooling.cancel()
      }
    }
  }
#endif
