/// The values of a progress.
struct ProgressUpdate: Equatable, Sendable {
  var fraction = 0.0
  var completedBytes: Int64 = 0
  var totalBytes: Int64?
  var bytesPerSecond: Double?

  /// Keeps the later of two updates, which may arrive out of order.
  mutating func advance(to newer: ProgressUpdate) {
    guard newer.fraction >= fraction, newer.completedBytes >= completedBytes else { return }
    self = newer
  }
}
