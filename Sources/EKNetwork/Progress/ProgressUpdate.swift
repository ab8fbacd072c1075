/// What a progress shows.
struct ProgressUpdate: Equatable, Sendable {
  var fraction = 0.0
  var completedBytes: Int64 = 0
  var totalBytes: Int64?
  var bytesPerSecond: Double?

  /// The later one of two that may arrive in another order than they were made.
  mutating func advance(to newer: ProgressUpdate) {
    guard newer.fraction >= fraction, newer.completedBytes >= completedBytes else { return }
    self = newer
  }
}
