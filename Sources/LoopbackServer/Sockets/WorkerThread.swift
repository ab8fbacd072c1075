import Foundation

/// A POSIX thread with a small stack, so that there can be thousands. The owner of the handle joins it, once.
// A thread's identifier is a number or an opaque pointer that is never dereferenced, so it may be sent anywhere.
struct WorkerThread: Equatable, @unchecked Sendable {
  private let identifier: pthread_t

  /// The calling thread.
  static var current: WorkerThread { WorkerThread(identifier: pthread_self()) }

  /// Starts a thread. Returns `nil` if the system has none left.
  static func start(_ body: @escaping @Sendable () -> Void) -> WorkerThread? {
    let argument = Unmanaged.passRetained(ThreadWork(body)).toOpaque()
    guard let identifier = createThread(argument) else {
      Unmanaged<ThreadWork>.fromOpaque(argument).release()
      return nil
    }
    return WorkerThread(identifier: identifier)
  }

  static func == (left: Self, right: Self) -> Bool { pthread_equal(left.identifier, right.identifier) != 0 }

  func join() { pthread_join(identifier, nil) }

  /// Gives up the right to join: the system cleans up when the thread ends.
  func detach() { pthread_detach(identifier) }
}

private final class ThreadWork: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func createThread(_ argument: UnsafeMutableRawPointer) -> pthread_t? {
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  defer { pthread_attr_destroy(&attributes) }
  // Handlers encode JSON and format text here; half a megabyte is plenty and is only reserved, not used.
  pthread_attr_setstacksize(&attributes, 512 << 10)
  #if canImport(Darwin)
    var identifier: pthread_t?
    return pthread_create(&identifier, &attributes, runThread, argument) == 0 ? identifier : nil
  #else
    var identifier = pthread_t()
    return pthread_create(&identifier, &attributes, runThread, argument) == 0 ? identifier : nil
  #endif
}

#if canImport(Darwin)
  private func runThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<ThreadWork>.fromOpaque(argument).takeRetainedValue().body()
    return nil
  }
#else
  private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { Unmanaged<ThreadWork>.fromOpaque(argument).takeRetainedValue().body() }
    return nil
  }
#endif
