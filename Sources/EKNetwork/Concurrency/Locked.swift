import Foundation

/// A state protected by a lock, in one allocation. Copies of the value share the state and the lock.
///
/// `Mutex` would be sufficient, but needs iOS 18. Three rules make the type safe:
/// - While the lock is held, nothing is called that could re-enter or block: no closure of a user, no continuation, no
///   other lock. Decide inside, return what to do, and do it outside. The lock is not recursive.
/// - A non-`Sendable` state, or anything reachable from it, must not leave ``withLock(_:)`` while it stays inside;
///   taking it out for good, or putting in something to which there is no other reference, is fine.
/// - The last reference to an object in the state must not be released inside if its `deinit` can run foreign code:
///   return it instead.
///
/// Sendable, unchecked: the state is accessed only through `withLock`.
struct Locked<State>: @unchecked Sendable {
  private let storage: LockedStorage<State>

  init(_ state: State) { storage = LockedStorage.make(state) }

  func withLock<Result, Failure: Error>(_ body: (inout State) throws(Failure) -> Result) throws(Failure) -> Result {
    storage.lock()
    defer { storage.unlock() }
    // Through a pointer: the lock makes the access exclusive, and the runtime's own exclusivity check costs as much.
    return try storage.withUnsafeMutablePointerToHeader { state throws(Failure) in try body(&state.pointee) }
  }

  /// Replaces the value of a member. The old value is released outside the lock: it may own anything.
  func replace<Value>(_ member: WritableKeyPath<State, Value>, with value: Value) {
    let old = withLock { exchange(&$0[keyPath: member], with: value) }
    withExtendedLifetime(old) {}
  }

  /// Runs `body` with exclusive access to the state if the lock is free; otherwise returns `nil` at once.
  func withLockIfFree<Result>(_ body: (inout State) -> Result) -> Result? {
    guard storage.tryLock() else { return nil }
    defer { storage.unlock() }
    return storage.withUnsafeMutablePointerToHeader { body(&$0.pointee) }
  }
}

#if canImport(Darwin)
  private typealias PlatformLock = os_unfair_lock
#else
  private typealias PlatformLock = pthread_mutex_t
#endif

/// A buffer with the state as its header and the platform's lock in its tail, where its address never changes.
private final class LockedStorage<State>: ManagedBuffer<State, PlatformLock> {
  static func make(_ state: State) -> LockedStorage {
    let storage = unsafeDowncast(create(minimumCapacity: 1) { _ in state }, to: LockedStorage.self)
    storage.withUnsafeMutablePointerToElements { lock in
      lock.initialize(to: PlatformLock())
      #if !canImport(Darwin)
        let status = pthread_mutex_init(lock, nil)
        precondition(status == 0, "pthread_mutex_init failed with \(status)")
      #endif
    }
    return storage
  }

  func lock() {
    withUnsafeMutablePointerToElements { lock in
      #if canImport(Darwin)
        os_unfair_lock_lock(lock)
      #else
        _ = pthread_mutex_lock(lock)
      #endif
    }
  }

  func tryLock() -> Bool {
    withUnsafeMutablePointerToElements { lock in
      #if canImport(Darwin)
        os_unfair_lock_trylock(lock)
      #else
        pthread_mutex_trylock(lock) == 0
      #endif
    }
  }

  func unlock() {
    withUnsafeMutablePointerToElements { lock in
      #if canImport(Darwin)
        os_unfair_lock_unlock(lock)
      #else
        _ = pthread_mutex_unlock(lock)
      #endif
    }
  }

  deinit {
    withUnsafeMutablePointerToElements { lock in
      #if !canImport(Darwin)
        _ = pthread_mutex_destroy(lock)
      #endif
      _ = lock.deinitialize(count: 1)
    }
  }
}
