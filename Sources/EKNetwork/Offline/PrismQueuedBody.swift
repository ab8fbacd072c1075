import Foundation

/// The location of a request's body while it waits in a ``PrismOfflineQueue``.
public enum PrismQueuedBody: Sendable, Equatable {
  /// The body of the `URLRequest`, if any.
  case ofRequest
  /// A file that stays where it is and is read when the request is sent. If it has been removed by then, the request
  /// can never be delivered.
  case reference(URL)
  /// A file that is copied into the queue's folder when the request is enqueued. It counts towards the queue's bytes. A
  /// queue in memory has no folder, and reads the file when the request is sent.
  case copy(URL)
}
