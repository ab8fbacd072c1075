import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The state of one upload: its progress, its listeners, and the callers that wait for its response. A value: its owner
/// resumes the continuations that it returns, outside of its lock.
struct UploadState<Response: Sendable> {
  typealias Listener = AsyncStream<PrismUploadProgress>.Continuation
  typealias Waiter = CheckedContinuation<Response, any Error>

  private(set) var progress: PrismUploadProgress
  private(set) var result: Result<Response, any Error>?
  private(set) var listeners: [UInt64: Listener] = [:]
  private var waiters: [UInt64: Waiter] = [:]
  private var nextID: UInt64 = 0
  private var isStarted = false
  /// Whether it was cancelled while in progress.
  private(set) var isCancelled = false

  init(total: Int64) { progress = PrismUploadProgress(bytesUploaded: 0, totalBytes: total) }

  /// Whether the upload is in progress and has no listener and no waiter left.
  var isAbandoned: Bool { isStarted && result == nil && listeners.isEmpty && waiters.isEmpty }

  mutating func takeID() -> UInt64 {
    nextID += 1
    return nextID
  }

  /// Marks the upload as started. Returns `false` if it was already.
  mutating func start() -> Bool {
    defer { isStarted = true }
    return !isStarted
  }

  /// Sets the length of the body that is about to be sent: a file may have changed since the upload was created.
  mutating func begin(total: Int64) {
    guard result == nil else { return }
    progress = PrismUploadProgress(bytesUploaded: min(progress.bytesUploaded, total), totalBytes: total)
  }

  mutating func cancel() {
    if isStarted, result == nil { isCancelled = true }
  }

  /// Adds a listener. Returns `false` if the upload has ended.
  mutating func listen(_ listener: Listener, id: UInt64) -> Bool {
    guard result == nil else { return false }
    listeners[id] = listener
    return true
  }

  mutating func removeListener(_ id: UInt64) -> Listener? { listeners.removeValue(forKey: id) }

  /// Returns the result, if there is one already; otherwise adds the waiter.
  mutating func wait(_ waiter: Waiter, id: UInt64) -> Result<Response, any Error>? {
    if let result { return result }
    waiters[id] = waiter
    return nil
  }

  mutating func removeWaiter(_ id: UInt64) -> Waiter? { waiters.removeValue(forKey: id) }

  /// Updates the progress; returns `nil` if it did not grow: after a redirect the body may be sent a second time.
  ///
  /// - Parameter total: The length of the body that is sent, if the transport reports it.
  mutating func sent(_ bytes: Int64, of total: Int64?) -> PrismUploadProgress? {
    guard result == nil, bytes > progress.bytesUploaded else { return nil }
    let total = total ?? progress.totalBytes
    progress = PrismUploadProgress(bytesUploaded: min(bytes, total), totalBytes: total)
    return progress
  }

  /// Ends the upload and returns its listeners and waiters. After a success the last progress is the total.
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
