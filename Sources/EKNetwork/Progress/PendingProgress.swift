/// What was reported of a progress that is published on the main thread alone. Reports come from any thread, and in any
/// number: one publication at a time is under way, and takes the newest along.
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

  mutating func reset() { newest = ProgressUpdate() }

  mutating func advance(to newer: ProgressUpdate) { newest.advance(to: newer) }

  /// What is to be published now.
  mutating func take() -> ProgressUpdate {
    isScheduled = false
    return newest
  }
}
