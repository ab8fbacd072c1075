import Foundation

#if canImport(Combine)
  import Combine
#endif

/// The progress of an upload or download.
///
/// Give one to a request; it starts at 0, never goes backwards, not even when the request is retried, and is exactly 1
/// once the request has succeeded. It changes at most about 30 times a second. With a body of 64 KiB or more it counts
/// the upload, and the response too if its length is announced; otherwise the download. What has no announced length
/// has no fraction.
///
/// On Apple platforms it is an `ObservableObject`, whose changes are published on the main thread; read it there.
/// Elsewhere it is set and can be read on any thread, and `progress.$fractionCompleted.values` works as it does with
/// Combine.
///
/// Sendable, unchecked: on Apple platforms `fractionCompleted` is set on the main thread alone and read by its users
/// there; elsewhere, and for what was reported but not yet published, there is a lock.
public final class NetworkProgress: @unchecked Sendable {
  /// The fraction that is done, from 0 to 1.
  @Published public var fractionCompleted: Double = 0
  /// The bytes that are done, of what the fraction counts. Counted also where no length is announced.
  @Published public internal(set) var completedBytes: Int64 = 0
  /// The bytes that there are to do; `nil` while that is unknown.
  @Published public internal(set) var totalBytes: Int64?
  /// How fast it goes, as an average that forgets within seconds; `nil` until that can be told.
  @Published public internal(set) var bytesPerSecond: Double?

  private let latest = Locked(PendingProgress())

  /// A progress at 0.
  public init() {}
}

#if canImport(Combine)
  extension NetworkProgress: ObservableObject {
    /// Back to 0, for a request that begins.
    func reset() { report { $0 = ProgressUpdate() } }

    /// Publishes an update unless a later one was published.
    func advance(to update: ProgressUpdate) { report { $0.advance(to: update) } }

    private func report(_ change: (inout ProgressUpdate) -> Void) {
      switch latest.withLock({ $0.report(onMainThread: Thread.isMainThread, change) }) {
      case .publish: publish()
      case .schedule: DispatchQueue.main.async { self.publish() }
      case .nothing: break
      }
    }

    /// On the main thread. It publishes the newest update, so that the order of the calls does not matter.
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
    /// Back to 0, for a request that begins.
    func reset() {
      latest.withLock { $0.reset() }
      $totalBytes.update { $0 = nil }
      $completedBytes.update { $0 = 0 }
      $bytesPerSecond.update { $0 = nil }
      $fractionCompleted.update { $0 = 0 }
    }

    /// Publishes an update unless a later one was published.
    ///
    /// It is there when this returns: a command-line program may keep its main thread waiting for the request.
    /// An observer of the fraction finds the bytes that belong to it, or later ones.
    func advance(to update: ProgressUpdate) {
      latest.withLock { $0.advance(to: update) }
      // Each takes the newest when it is set: of two that publish at once, the one that comes last may have the older.
      $totalBytes.update { $0 = newest.totalBytes }
      $completedBytes.update { $0 = max($0, newest.completedBytes) }
      $bytesPerSecond.update { $0 = newest.bytesPerSecond }
      $fractionCompleted.update { $0 = max($0, newest.fraction) }
    }

    private var newest: ProgressUpdate { latest.withLock { $0.newest } }
  }
#endif
