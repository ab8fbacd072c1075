/// A piece of work that is under way, and that its tasks know they are part of: a token refresh, a request or flush that
/// others join, the rest of a call inside of a middleware.
///
/// Work that waits for itself, directly or through other work, would wait for ever. So whatever can be joined is run by
/// such an object, and a task asks before it waits for one. Child tasks and `Task { }` are part of the work that starts
/// them, and may outlive it; `Task.detached` is not.
final class EnclosingWork: Sendable {
  @TaskLocal private static var innermost: EnclosingWork?

  // Shared by the whole process: a manager, a queue and a deduplicator that wait for each other have nothing in common.
  // Only tasks that are part of some work use it.
  private static let waits = Locked(WaitGraph<ObjectIdentifier>())

  private let parent: EnclosingWork?
  private let canBeJoined: Bool
  private let mark: (any Sendable)?
  private let over = Locked(false)

  /// - Parameters:
  ///   - canBeJoined: Whether tasks wait for the work that are not part of what has started it.
  ///   - mark: Identifies the work to ``mark(_:where:)``.
  init(canBeJoined: Bool, mark: (any Sendable)? = nil) {
    parent = Self.current
    self.canBeJoined = canBeJoined
    self.mark = mark
  }

  /// The innermost work that the current task is part of and that is not over.
  static var current: EnclosingWork? { first { _ in true } }

  private static func first(where isMeant: (EnclosingWork) -> Bool) -> EnclosingWork? {
    var next = innermost
    while let work = next {
      if !work.over.withLock({ $0 }), isMeant(work) { return work }
      next = work.parent
    }
    return nil
  }

  /// Runs the work, which is over when `body` has returned.
  func run<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    defer {
      over.withLock { $0 = true }
      if canBeJoined { Self.waits.withLock { $0.remove(ObjectIdentifier(self)) } }
    }
    return try await Self.$innermost.withValue(self, operation: body)
  }

  /// Runs `body` as a part of the work that was current when `work` was read, in a task that has not inherited it.
  static func continuing<Value>(_ work: EnclosingWork?, _ body: () async throws -> Value) async rethrows -> Value {
    guard let work else { return try await body() }
    return try await $innermost.withValue(work, operation: body)
  }

  /// Returns the mark of the innermost work of that kind that the current task is part of; `nil` if it is part of none.
  static func mark<Mark: Sendable>(_ type: Mark.Type, where matches: (Mark) -> Bool) -> Mark? {
    first { ($0.mark as? Mark).map(matches) == true }?.mark as? Mark
  }

  /// The error of a task that does not wait, because its work would then wait for itself.
  struct SelfWaitError: Error {}

  /// Records that the current task is going to wait for the end of this work. Returns what must be called after the wait.
  func wait() throws(SelfWaitError) -> @Sendable () -> Void {
    // What encloses the innermost work for which others may wait, waits for that if it depends on it.
    guard let work = Self.first(where: \.canBeJoined) else { return {} }
    let begins = Self.waits.withLock { $0.begin(ObjectIdentifier(work), for: ObjectIdentifier(self)) }
    guard begins else { throw SelfWaitError() }
    return { Self.waits.withLock { $0.end(ObjectIdentifier(work), for: ObjectIdentifier(self)) } }
  }
}

/// Which work waits for which. A value: its owner has a lock.
struct WaitGraph<Work: Hashable> {
  /// For each work what it waits for, repeated if several of its tasks do.
  private var targets: [Work: [Work]] = [:]

  var isEmpty: Bool { targets.isEmpty }

  /// Records that `work` waits for `other`; returns `false`, and records nothing, if `other` is `work` or waits for it.
  mutating func begin(_ work: Work, for other: Work) -> Bool {
    guard !waits(other, for: work) else { return false }
    targets[work, default: []].append(other)
    return true
  }

  mutating func end(_ work: Work, for other: Work) {
    guard let index = targets[work]?.firstIndex(of: other) else { return }
    targets[work]?.remove(at: index)
    if targets[work]?.isEmpty == true { targets[work] = nil }
  }

  /// Removes work that is over: its tasks that still wait delay nobody else.
  mutating func remove(_ work: Work) { targets[work] = nil }

  private func waits(_ work: Work, for other: Work) -> Bool {
    var (open, seen) = ([work], Set([work]))
    while let next = open.popLast() {
      if next == other { return true }
      for target in targets[next] ?? [] where seen.insert(target).inserted { open.append(target) }
    }
    return false
  }
}

/// A time limit for work. Whichever comes first decides, the end of the work or the limit: work that has ended is never
/// stopped afterwards, however late the timer's task notices its cancellation.
enum TimeLimit {
  /// Runs work, and throws `error` if it has not ended in time.
  ///
  /// - Parameter stop: Called when the time is up, to make the work end. What the work then throws is ignored.
  static func run<Success: Sendable>(
    _ limit: Duration, clock: any Clock<Duration>, error timeout: any Error, stop: @escaping @Sendable () -> Void,
    _ work: () async throws -> Success
  ) async throws -> Success {
    let isDecided = Locked(false)
    @Sendable func comesFirst() -> Bool { !isDecided.withLock { exchange(&$0, with: true) } }
    let timer = Task {
      if (try? await clock.sleep(for: limit.sleepable)) != nil, comesFirst() { stop() }
    }
    defer { timer.cancel() }
    let result: Result<Success, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    guard comesFirst() else { throw timeout }
    return try result.get()
  }
}
