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
