import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One upload: how far it is, who watches, and who waits for its response. A value: its owner resumes what it
/// gives, outside of its lock.
struct UploadState<Response: Sendable> {
  typealias Listener = AsyncStream<PrismUploadProgress>.Continuation
  typealias Waiter = CheckedContinuation<Response, any Error>

  private(set) var progress: PrismUploadProgress
  private(set) var result: Result<Response, any Error>?
  private(set) var listeners: [UInt64: Listener] = [:]
  private var waiters: [UInt64: Waiter] = [:]
  private var nextID: UInt64 = 0
  private var isStarted = false
  /// Whether it was cancelled while it was under way.
  private(set) var isCancelled = false

  init(total: Int64) { progress = PrismUploadProgress(bytesUploaded: 0, totalBytes: total) }

  /// Whether an upload that is under way has no listener and no waiter left.
  var isAbandoned: Bool { isStarted && result == nil && listeners.isEmpty && waiters.isEmpty }

  mutating func takeID() -> UInt64 {
    nextID += 1
    return nextID
  }

  /// Whether it is to be started now.
  mutating func start() -> Bool {
    defer { isStarted = true }
    return !isStarted
  }

  mutating func cancel() {
    if isStarted, result == nil { isCancelled = true }
  }

  /// `false` when there is nothing more to hear.
  mutating func listen(_ listener: Listener, id: UInt64) -> Bool {
    guard result == nil else { return false }
    listeners[id] = listener
    return true
  }

  mutating func removeListener(_ id: UInt64) -> Listener? { listeners.removeValue(forKey: id) }

  /// The result, where there is one already.
  mutating func wait(_ waiter: Waiter, id: UInt64) -> Result<Response, any Error>? {
    if let result { return result }
    waiters[id] = waiter
    return nil
  }

  mutating func removeWaiter(_ id: UInt64) -> Waiter? { waiters.removeValue(forKey: id) }

  /// Bytes were sent, of a body that may be sent a second time after a redirect.
  mutating func sent(_ bytes: Int64) -> PrismUploadProgress? {
    guard result == nil, bytes > progress.bytesUploaded else { return nil }
    progress = PrismUploadProgress(
      bytesUploaded: min(bytes, progress.totalBytes), totalBytes: progress.totalBytes)
    return progress
  }

  /// It is over. The last progress of a success is the whole.
  mutating func finish(_ result: Result<Response, any Error>) -> (listeners: [Listener], waiters: [Waiter]) {
    self.result = result
    if case .success = result {
      progress = PrismUploadProgress(bytesUploaded: progress.totalBytes, totalBytes: progress.totalBytes)
    }
    defer {
      listeners = [:]
      waiters = [:]
    }
    return (Array(listeners.values), Array(waiters.values))
  }
}
