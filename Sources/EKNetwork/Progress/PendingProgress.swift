/// The pending updates of a progress that is published on the main thread only. Any thread may report any number of
/// updates; at most one publication is scheduled, and it takes the newest update.
struct PendingProgress {
  enum Step { case publish, schedule, nothing }

  private(set) var newest = ProgressUpdate()
  private var isScheduled = false

  mutating func report(onMainThread isMain: Bool, _ change: (inout ProgressUpdate) -> Void) -> Step {
    change(&newest)
    if isMain { return .publish }
    defer { isScheduled = true }
    return isScheduled ? .nothing : .schedule
  }

  mutating func reset() -> UInt64 { newest.reset() }

  mutating func advance(to newer: ProgressUpdate) { newest.advance(to: newer) }

  /// Returns the update to publish now.
  mutating func take() -> ProgressUpdate {
    isScheduled = false
    return newest
  }
}
