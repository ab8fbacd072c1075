#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A state behind a lock, in one allocation. Copies of the value share the state and the lock.
///
/// `Mutex` would do, but needs iOS 18. Three rules make it safe:
/// - Nothing is called while the lock is held that could come back or block: no closure of a user, no continuation,
///   no other lock. Decide inside, return what to do, and do it outside. The lock is not recursive.
/// - A non-`Sendable` state, or anything reachable from it, must not leave ``withLock(_:)`` while it stays inside;
///   taking it out for good, or putting in something to which there is no other reference, is fine.
/// - The state's last reference must not be dropped inside if its `deinit` can run foreign code: return it instead.
///
/// Sendable, unchecked: the state is reached through `withLock` alone.
struct Locked<State>: @unchecked Sendable {
  private let storage: LockedStorage<State>

  init(_ state: State) {
    storage = LockedStorage.make(state)
  }

  /// Runs `body` alone with the state.
  func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    storage.lock()
    defer { storage.unlock() }
    // Through a pointer: the lock is what makes the access exclusive, and the runtime's own check costs as much.
    return try storage.withUnsafeMutablePointerToHeader { state throws(Failure) in try body(&state.pointee) }
  }

  /// Puts a new value in the place of a member's. The old one is released outside the lock: it may own anything.
  func replace<Value>(_ member: WritableKeyPath<State, Value>, with value: Value) {
    let old = withLock { state in
      let old = state[keyPath: member]
      state[keyPath: member] = value
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// Runs `body` alone with the state if no other thread has it; `nil` at once if one does.
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

/// The state as header, and the platform's lock in the tail, where its address never changes.
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
