/// Ends what the loops over a subscription wait for, when its owner wants them to reconnect.
final class ReconnectSignal: Sendable {
  /// A wait that the signal ends, until it is released.
  final class Wait: Sendable {
    private let signal: ReconnectSignal
    private let number: Int

    fileprivate init(_ signal: ReconnectSignal, _ number: Int) {
      self.signal = signal
      self.number = number
    }

    deinit { _ = signal.waits.withLock { $0.ends.removeValue(forKey: number) } }
  }

  private let waits = Locked<(count: Int, ends: [Int: @Sendable () -> Void])>((0, [:]))

  func send() {
    for end in waits.withLock({ Array($0.ends.values) }) { end() }
  }

  /// Calls a closure with each signal, while the returned wait exists.
  func onSend(_ end: @escaping @Sendable () -> Void) -> Wait {
    let number = waits.withLock { waits in
      waits.count += 1
      waits.ends[waits.count] = end
      return waits.count
    }
    return Wait(self, number)
  }

  /// Sleeps until the next signal, at the longest for a time.
  func sleep(for duration: Duration, clock: any Clock<Duration>) async throws {
    let sleep = Task { try await clock.sleep(for: duration.sleepable) }
    let wait = onSend { sleep.cancel() }
    await withTaskCancellationHandler {
      _ = try? await sleep.value
    } onCancel: {
      sleep.cancel()
    }
    withExtendedLifetime(wait) {}
    try Task.checkCancellation()
  }
}
