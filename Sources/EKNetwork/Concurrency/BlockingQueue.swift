import Dispatch

/// Where work is done that waits for the disk, in place of a thread of the pool.
struct BlockingQueue: Sendable {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  /// Runs the work after that of earlier calls, and suspends until it is done.
  func run(_ work: @escaping @Sendable () -> Void) async {
    await withUnsafeContinuation { continuation in
      queue.async {
        work()
        continuation.resume()
      }
    }
  }
}
