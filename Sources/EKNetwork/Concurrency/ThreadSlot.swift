import Foundation

/// A value that the current thread has during a call, for code that cannot be passed one: a task-local value without the
/// search for it, and one that tasks do not inherit.
struct ThreadSlot<Value: AnyObject & Sendable>: Sendable {
  private let key: pthread_key_t?
  /// The values by thread, without a key.
  private let values = Locked<[ObjectIdentifier: Value]>([:])

  /// - Parameter key: Creates the key: a process has only so many.
  init(key: () -> pthread_key_t? = ThreadSlot.newKey) { self.key = key() }

  static func newKey() -> pthread_key_t? {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }

  var value: Value? {
    guard let key else { return values.withLock { $0[ObjectIdentifier(Thread.current)] } }
    return pthread_getspecific(key).map { Unmanaged<Value>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Calls a function while the thread has a value, which lives as long as that.
  func withValue<Result>(_ value: Value?, _ call: () throws -> Result) rethrows -> Result {
    let outer = self.value
    set(value)
    defer {
      set(outer)
      withExtendedLifetime(value) {}
    }
    return try call()
  }

  private func set(_ value: Value?) {
    if let key {
      pthread_setspecific(key, value.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
    } else {
      values.withLock { $0[ObjectIdentifier(Thread.current)] = value }
    }
  }
}
