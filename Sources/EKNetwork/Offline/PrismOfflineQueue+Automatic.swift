/// Automatic flushing, as ``OfflineFlushState`` decides.
extension PrismOfflineQueue {
  func arrived() {
    guard autoFlush, flushing.enqueued() else { return }
    // Detached: a flush belongs to all requests, and not to the task that happened to enqueue the first of them.
    Task.detached { [weak self] in await self?.flushByItself() }
  }

  private func flushByItself() async {
    repeat {
      do {
        try await flush()
      } catch {
        let failure = OfflineFailure(error)
        guard failure != .permanent, failure != .cancelled || !Task.isCancelled else { return flushing.cancelled() }
        let delay = flushing.failed(retryAfter: failure.retryAfter)
        let clock = options.clock
        waiting = Task { [weak self] in
          guard (try? await clock.sleep(for: delay.sleepable)) != nil else { return }
          await self?.wake(resetting: false)
        }
        return
      }
    } while flushing.succeeded(isEmpty: state.count == 0 || !delivers)
  }

  /// Whether a flush is under way.
  nonisolated var isFlushing: Bool { flights.count > 0 }

  var delivers: Bool {
    if case .none = delivery.way { false } else { true }
  }

  private func wake(resetting: Bool) async {
    guard flushing.woken(countsFailures: !resetting) else { return }
    // The end of the wait comes from the waiting task itself, which must not be cancelled.
    if resetting { waiting?.cancel() }
    waiting = nil
    await flushByItself()
  }

  func watch(_ connectivity: PrismConnectivityMonitor) {
    watching = Task { [weak self] in
      for await isConnected in connectivity.connectionStream() where isConnected {
        guard let self else { return }
        await self.wake(resetting: true)
      }
    }
  }
}
