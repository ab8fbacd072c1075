import Foundation

#if canImport(Combine)
  import Combine
#endif

/// The progress of an upload or download.
///
/// Give one to a request; it starts at 0, never goes backwards, not even when the request is retried, and is exactly 1
/// once the request has succeeded. It changes at most about 30 times a second. With a body of 64 KiB or more it follows
/// the upload, otherwise the download; what has no announced length cannot be counted.
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

  #if canImport(Combine)
    private let unpublished = Locked(Unpublished())
  #endif

  /// A progress at 0.
  public init() {}
}

#if canImport(Combine)
  extension NetworkProgress: ObservableObject {
    /// What was reported but has not reached the main thread.
    private struct Unpublished {
      var fraction = 0.0
      var isScheduled = false
    }

    /// Back to 0, for a request that begins.
    func reset() {
      report { $0 = 0 }
    }

    /// Publishes a fraction unless a greater one was published.
    func advance(to fraction: Double) {
      report { $0 = max($0, fraction) }
    }

    private func report(_ change: (inout Double) -> Void) {
      let mustSchedule = unpublished.withLock { unpublished in
        change(&unpublished.fraction)
        defer { if !Thread.isMainThread { unpublished.isScheduled = true } }
        return !unpublished.isScheduled
      }
      if Thread.isMainThread {
        publish()
      } else if mustSchedule {
        DispatchQueue.main.async { self.publish() }
      }
    }

    /// On the main thread. It publishes the newest fraction, so that the order of the calls does not matter.
    private func publish() {
      let fraction = unpublished.withLock { unpublished in
        unpublished.isScheduled = false
        return unpublished.fraction
      }
      if fraction != fractionCompleted { fractionCompleted = fraction }
    }
  }
#else
  extension NetworkProgress {
    /// Back to 0, for a request that begins.
    func reset() {
      $fractionCompleted.update { $0 = 0 }
    }

    /// Publishes a fraction unless a greater one was published.
    ///
    /// It is there when this returns: a command-line program may keep its main thread waiting for the request.
    func advance(to fraction: Double) {
      $fractionCompleted.update { $0 = max($0, fraction) }
    }
  }
#endif
