import Foundation

#if canImport(Combine)
  import Combine
#endif

/// The progress of an upload or download.
///
/// Assign one to a request; it starts at 0, never goes backwards, not even when the request is retried, and is exactly
/// 1 once the request has succeeded. It changes at most about 30 times a second. With a body of 64 KiB or more it
/// measures the upload, and the response too if its length is announced; otherwise the download. Without an announced
/// length there is no fraction.
///
/// On Apple platforms it is an `ObservableObject`, whose changes are published on the main thread; read it there.
/// Elsewhere it can be set and read on any thread, and `progress.$fractionCompleted.values` works as with Combine.
///
/// Sendable, unchecked: on Apple platforms `fractionCompleted` is set on the main thread only and read by its users
/// there; elsewhere, and for updates that are not yet published, there is a lock.
public final class NetworkProgress: @unchecked Sendable {
  /// The completed fraction, from 0 to 1.
  @Published public var fractionCompleted: Double = 0
  /// The number of completed bytes, of those that the fraction measures. Also counted if no length is announced. The
  /// bodies of errors and redirects are not counted, and at the end only the bytes of the last attempt are.
  @Published public internal(set) var completedBytes: Int64 = 0
  /// The total number of bytes; `nil` while unknown.
  @Published public internal(set) var totalBytes: Int64?
  /// The transfer rate, as a moving average over a few seconds; `nil` until it can be determined.
  @Published public internal(set) var bytesPerSecond: Double?

  private let latest = Locked(PendingProgress())

  /// Creates a progress at 0.
  public init() {}
}

#if canImport(Combine)
  extension NetworkProgress: ObservableObject {
    /// Resets the progress to 0 for a new request, whose number is returned.
    func reset() -> UInt64 {
      var request: UInt64 = 0
      report { request = $0.reset() }
      return request
    }

    /// Publishes an update unless a later one was published.
    func advance(to update: ProgressUpdate) { report { $0.advance(to: update) } }

    private func report(_ change: (inout ProgressUpdate) -> Void) {
      switch latest.withLock({ $0.report(onMainThread: Thread.isMainThread, change) }) {
      case .publish: publish()
      case .schedule: DispatchQueue.main.async { self.publish() }
      case .nothing: break
      }
    }

    /// Publishes the newest update on the main thread, so that the order of the calls does not matter.
    private func publish() {
      let update = latest.withLock { $0.take() }
      if update.totalBytes != totalBytes { totalBytes = update.totalBytes }
      if update.completedBytes != completedBytes { completedBytes = update.completedBytes }
      if update.bytesPerSecond != bytesPerSecond { bytesPerSecond = update.bytesPerSecond }
      if update.fraction != fractionCompleted { fractionCompleted = update.fraction }
    }
  }
#else
  extension NetworkProgress {
    /// Resets the progress to 0 for a new request, whose number is returned.
    func reset() -> UInt64 {
      let request = latest.withLock { $0.reset() }
      $totalBytes.update { $0 = nil }
      $completedBytes.update { $0 = 0 }
      $bytesPerSecond.update { $0 = nil }
      $fractionCompleted.update { $0 = 0 }
      return request
    }

    /// Publishes an update unless a later one was published.
    ///
    /// It is visible when this returns: a command-line program may block its main thread until the request ends. An
    /// observer of the fraction finds the bytes that belong to it, or later ones.
    func advance(to update: ProgressUpdate) {
      latest.withLock { $0.advance(to: update) }
      // Each takes the newest update at the time it is set: of two concurrent calls, the last may have the older
      // update.
      $totalBytes.update { $0 = newest.totalBytes }
      $completedBytes.update { $0 = newest.completedBytes }
      $bytesPerSecond.update { $0 = newest.bytesPerSecond }
      $fractionCompleted.update { $0 = max($0, newest.fraction) }
    }

    private var newest: ProgressUpdate { latest.withLock { $0.newest } }
  }
#endif
