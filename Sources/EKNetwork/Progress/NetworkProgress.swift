import Foundation

#if canImport(Combine)
  import Combine
#endif

/// The progress of an upload or download.
///
/// Assign one to a request; it starts at 0, never goes backwards, not even when the request is retried, and is exactly
/// 1 once the transfer has succeeded; the response of `send` is decoded after that. It changes at most about 30 times a
/// second. With a body of 64 KiB or more it measures the upload, and the response too if its length is announced;
/// otherwise the download. Without an announced length there is no fraction.
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
    func reset() -> UInt64 {
      var request: UInt64 = 0
      report { request = $0.reset() }
      return request
    }

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
      let request = latest.withLock { $0.newest.reset() }
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
      latest.withLock { $0.newest.advance(to: update) }
      // Each takes the newest update at the time it is set: of two concurrent calls, the last may have the older
      // update.
      $totalBytes.update { $0 = newest.totalBytes }
      $completedBytes.update { $0 = newest.completedBytes }
      $bytesPerSecond.update { $0 = newest.bytesPerSecond }
      $fractionCompleted.update { $0 = max($0, newest.fraction) }
    }

    private var newest: ProgressUpdate { latest.withLock { $0.newest } }

    /// A counterpart of `Combine.Published`, as far as ``NetworkProgress`` needs one: a value that can be set and read
    /// on any thread and whose changes can be iterated.
    @propertyWrapper
    public struct Published<Value: Sendable & Equatable>: Sendable {
      private let owner: Owner

      /// Creates a wrapper around an initial value.
      public init(wrappedValue: Value) { owner = Owner(ObservedValue(wrappedValue)) }

      /// The value.
      public var wrappedValue: Value {
        get { owner.value.current }
        nonmutating set { owner.value.update { $0 = newValue } }
      }

      /// The source of the value's changes.
      public var projectedValue: Publisher { Publisher(value: owner.value) }

      /// Ends every iteration when the wrapper is deallocated; iterating tasks retain the value, not this object.
      private final class Owner: Sendable {
        let value: ObservedValue<Value>
        init(_ value: ObservedValue<Value>) { self.value = value }
        deinit { value.finish() }
      }

      /// A publisher of the changes of a value.
      public struct Publisher: Sendable {
        let value: ObservedValue<Value>

        /// The current value and then each change, until the progress is deallocated.
        ///
        /// Any number of tasks may iterate, each over a sequence of its own. A task slower than the changes receives
        /// the newest value and misses those before it; a cancelled task receives `nil` at once.
        public var values: Values { Values(value: value) }

        func update(_ change: (inout Value) -> Void) { value.update(change) }
      }

      /// The asynchronous sequence of a value's changes.
      public struct Values: AsyncSequence, Sendable {
        /// The type of the value.
        public typealias Element = Value
        /// Iterating does not throw.
        public typealias Failure = Never

        let value: ObservedValue<Value>

        /// Returns an iterator that begins with the current value.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(value: value) }

        /// An iterator over a value's changes.
        public struct AsyncIterator: AsyncIteratorProtocol {
          let value: ObservedValue<Value>
          private var seen: UInt64?

          init(value: ObservedValue<Value>) { self.value = value }

          /// Returns the value once it differs from the last one; `nil` at the end or when the task is cancelled.
          public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
            guard let next = await value.next(after: seen, isolation: actor) else { return nil }
            seen = next.version
            return next.value
          }
        }
      }
    }
  }
#endif

/// A value that any thread may set, and whose changes any number of tasks can await.
///
/// Nothing is stored per iteration: each remembers the version that it has seen, and only waiting ones are stored here,
/// as continuations.
final class ObservedValue<Value: Sendable & Equatable>: Sendable {
  struct Version: Sendable {
    var value: Value
    var version: UInt64
  }

  private struct State {
    var current: Version
    var isFinished = false
    var waiters = WaiterQueue<Void>()
    var lastWaiter: UInt64 = 0
  }

  private let state: Locked<State>

  init(_ value: Value) { state = Locked(State(current: Version(value: value, version: 0))) }

  var current: Value { state.withLock { $0.current.value } }

  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Changes the value, and resumes the waiting tasks if it differs. `change` runs under the lock.
  func update(_ change: (inout Value) -> Void) {
    let waiters: [CheckedContinuation<Void, any Error>] = state.withLock { state in
      let old = state.current.value
      change(&state.current.value)
      guard state.current.value != old else { return [] }
      state.current.version += 1
      return state.waiters.removeAll()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Ends every iteration, after the last value.
  func finish() {
    let waiters = state.withLock { state in
      state.isFinished = true
      return state.waiters.removeAll()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns the newest value once its version differs from `version`; `nil` at the end or when the task is cancelled.
  func next(after version: UInt64?, isolation: isolated (any Actor)?) async -> Version? {
    while !Task.isCancelled {
      let (next, isFinished) = state.withLock { state in
        (state.current.version != version ? state.current : nil, state.isFinished)
      }
      if let next { return next }
      if isFinished { return nil }
      await change(after: version, isolation: isolation)
    }
    return nil
  }

  private func change(after version: UInt64?, isolation: isolated (any Actor)?) async {
    let waiter = state.withLock { $0.lastWaiter.increment() }
    try? await withCancellableContinuation { continuation in
      let isReady = state.withLock { state in
        if state.isFinished || state.current.version != version { return true }
        state.waiters.append(continuation, id: waiter)
        return false
      }
      if isReady { continuation.resume() }
      return !isReady
    } leave: { [state] in
      state.withLock { $0.waiters.remove(waiter) }
    }
  }
}

/// The pending updates of a progress that is published on the main thread only. Any thread may report any number of
/// updates; at most one publication is scheduled, and it takes the newest update.
struct PendingProgress {
  enum Step { case publish, schedule, nothing }

  var newest = ProgressUpdate()
  private var isScheduled = false

  mutating func report(onMainThread isMain: Bool, _ change: (inout ProgressUpdate) -> Void) -> Step {
    change(&newest)
    if isMain { return .publish }
    return exchange(&isScheduled, with: true) ? .nothing : .schedule
  }

  mutating func take() -> ProgressUpdate {
    isScheduled = false
    return newest
  }
}

struct ProgressUpdate: Equatable, Sendable {
  var fraction = 0.0
  var completedBytes: Int64 = 0
  var totalBytes: Int64?
  var bytesPerSecond: Double?
  /// The request that the values belong to: a cancelled one may report for a moment after the next has begun.
  var request: UInt64 = 0

  /// Begins the progress of the next request, whose number is returned.
  mutating func reset() -> UInt64 {
    self = ProgressUpdate(request: request &+ 1)
    return request
  }

  /// Keeps the later of two updates of the current request, which may arrive out of order.
  mutating func advance(to newer: ProgressUpdate) {
    guard newer.request == request, newer.fraction >= fraction else { return }
    // Nothing follows the end, whose bytes are those of the last attempt only.
    guard newer.completedBytes >= completedBytes || newer.fraction == 1 else { return }
    self = newer
  }
}
