import Foundation

/// Where the body of a request is while it waits in a ``PrismOfflineQueue``.
public enum PrismQueuedBody: Sendable, Equatable {
  /// The `URLRequest` has it, or there is none.
  case ofRequest
  /// In a file that stays where it is and is read when the request is sent. Gone by then, the request can never be
  /// delivered.
  case reference(URL)
  /// In a file that is copied into the queue's folder now. It counts among the queue's bytes. A queue in memory has
  /// no folder, and reads the file when the request is sent.
  case copy(URL)
}
