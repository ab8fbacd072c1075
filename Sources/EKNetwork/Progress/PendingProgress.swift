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

/// The values of a progress.
struct ProgressUpdate: Equatable, Sendable {
  var fraction = 0.0
  var completedBytes: Int64 = 0
  var totalBytes: Int64?
  var bytesPerSecond: Double?
  /// The request that the values belong to: a cancelled one may report for a moment after the next has begun.
  var request: UInt64 = 0

  /// Begins the progress of the next request, whose number is returned.
  mutating func reset() -> UInt64 {
    self = ProgressUpdate(request: request &+ 1)
    return request
  }

  /// Keeps the later of two updates of the current request, which may arrive out of order.
  mutating func advance(to newer: ProgressUpdate) {
    guard newer.request == request, newer.fraction >= fraction else { return }
    // Nothing follows the end, whose bytes are those of the last attempt only.
    guard newer.completedBytes >= completedBytes || newer.fraction == 1 else { return }
    self = newer
  }
}
