#if !canImport(Darwin)
  import Foundation
  import FoundationNetworking

  extension SequenceBody {
    /// Writes the sequence to a file, within the time for the whole request: a sequence may never yield again.
    ///
    /// Whichever comes first decides, the end of the sequence, the deadline or the cancellation of the caller. The
    /// sequence is then cancelled, and not waited for: it may ignore that.
    ///
    /// - Throws: `URLError.timedOut` after the deadline.
    func spooled(by deadline: ContinuousClock.Instant?, for url: URL?) async throws -> FileSegment {
      let waiter = Locked<CheckedContinuation<FileSegment, any Error>?>(nil)
      let tasks = Locked<[Task<Void, Never>]>([])
      @Sendable func take() -> CheckedContinuation<FileSegment, any Error>? {
        waiter.withLock { waiter in
          defer { waiter = nil }
          return waiter
        }
      }
      defer { for task in tasks.withLock({ $0 }) { task.cancel() } }
      return try await withCancellableContinuation { continuation in
        waiter.withLock { $0 = continuation }
        let spooling = Task {
          let result: Result<FileSegment, any Error>
          do { result = .success(try await spooled()) } catch { result = .failure(error) }
          take()?.resume(with: result)
        }
        tasks.withLock { $0.append(spooling) }
        if let deadline {
          let timer = Task {
            guard (try? await Task.sleep(for: (deadline - .now).sleepable, clock: .continuous)) != nil else { return }
            take()?.resume(throwing: URLError.timedOut(url))
          }
          tasks.withLock { $0.append(timer) }
        }
        return true
      } leave: {
        take()
      }
    }
  }
#endif
