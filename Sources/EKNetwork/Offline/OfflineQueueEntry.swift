/// A request in a queue.
struct OfflineQueueEntry: Sendable {
  /// The order of arrival, across runs of the program.
  let sequence: UInt64
  var request: PrismQueuedRequest
  /// What it counts for among the queue's bytes.
  let bytes: Int64
}
