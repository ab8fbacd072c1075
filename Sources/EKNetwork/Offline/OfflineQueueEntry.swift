/// A request in a queue.
struct OfflineQueueEntry: Sendable {
  /// The position in the order of arrival, across runs of the program.
  let sequence: UInt64
  var request: PrismQueuedRequest
  /// The number of bytes that it counts for in the queue.
  let bytes: Int64
}
