/// A coordinator that runs at most one piece of work at a time for each key and type of result, and returns its result
/// to all callers that join it. Results are not stored once the work has ended.
///
/// A caller that would wait for itself does not join, as ``EnclosingWork`` decides.
final class SharedFlights<Key: Hashable & Sendable>: Sendable {
  /// The key together with the type of the result: work with another type of result under the same key is separate.
  private struct Name: Hashable {
    let key: Key
    let type: ObjectIdentifier
  }

  private final class Flight<Value: Sendable>: Sendable {
    typealias Waiter = CheckedContinuation<Value, any Error>

    let work: EnclosingWork
    let state = Locked(FlightState<Waiter>())
    let task = Locked<Task<Void, Never>?>(nil)

    init(_ work: EnclosingWork) { self.work = work }
  }

  /// Identifies the work of one coordinator.
  private struct Mark: Sendable {
    let owner: ObjectIdentifier
  }

  private struct State {
    var flights: [Name: AnyObject] = [:]
    var nextID: UInt64 = 0
  }

  private let state = Locked(State())

  var count: Int { state.withLock { $0.flights.count } }

  /// - Parameter key: The key of the work; `nil` for all of it.
  func waiterCount<Value: Sendable>(_ type: Value.Type, of key: Key? = nil) -> Int {
    let flights = state.withLock { $0.flights.filter { key == nil || $0.key.key == key }.values }
    return flights.reduce(0) { $0 + (($1 as? Flight<Value>)?.state.withLock { $0.count } ?? 0) }
  }

  /// Whether the current task is part of work of this coordinator.
  var isEnclosing: Bool { EnclosingWork.mark(Mark.self) { $0.owner == ObjectIdentifier(self) } != nil }

  /// Returns the result of the work in flight with this key; starts the work if there is none. A caller that would wait
  /// for itself runs the work alone.
  ///
  /// - Throws: What the work throws, to every caller that waits; `CancellationError` at once when this caller's task is
  ///   cancelled. The work continues for the others, and is cancelled with the last of them.
  func run<Value: Sendable>(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    do { return try await join(key, work) } catch is EnclosingWork.SelfWaitError { return try await work() }
  }

  /// Returns the result of the work in flight, as ``run(_:_:)`` does, and throws ``EnclosingWork/SelfWaitError`` to a
  /// caller that would wait for itself.
  func join<Value: Sendable>(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let name = Name(key: key, type: ObjectIdentifier(Value.self))
    let id = state.withLock { $0.nextID.increment() }
    let joined = Locked<(flight: Flight<Value>, endWait: @Sendable () -> Void)?>(nil)
    defer { joined.withLock { $0 }?.endWait() }
    do {
      return try await withCancellableContinuation { continuation in
        let (flight, isNew) = enter(name, continuation, id)
        do throws(EnclosingWork.SelfWaitError) {
          let endWait = try flight.work.wait()
          joined.withLock { $0 = (flight, endWait) }
        } catch {
          self.leave(flight, name, id)?.resume(throwing: error)
          return false
        }
        if isNew { start(flight, name, work) }
        return true
      } leave: {
        joined.withLock { $0 }.flatMap { self.leave($0.flight, name, id) }
      }
    } catch {
      FlightFailure.received(joined.withLock { $0 }?.flight.state.withLock { $0.failure })
      throw error
    }
  }

  /// Removes a caller and returns it; `nil` if it does not wait. The work is cancelled with the last of them.
  private func leave<Value: Sendable>(
    _ flight: Flight<Value>, _ name: Name, _ id: UInt64
  ) -> CheckedContinuation<Value, any Error>? {
    guard let (waiter, isLast) = flight.state.withLock({ $0.leave(id) }) else { return nil }
    if isLast {
      remove(flight, name)
      // It may not have started yet.
      flight.task.withLock { $0 }?.cancel()
    }
    return waiter
  }

  /// Closes the work in flight to new callers: later calls start new work.
  func seal() {
    let old = state.withLock { exchange(&$0.flights, with: [:]) }
    withExtendedLifetime(old) {}
  }

  private func enter<Value: Sendable>(
    _ name: Name, _ waiter: CheckedContinuation<Value, any Error>, _ id: UInt64
  ) -> (Flight<Value>, isNew: Bool) {
    let work = EnclosingWork(canBeJoined: true, mark: Mark(owner: ObjectIdentifier(self)))
    while true {
      let (flight, isNew) = state.withLock { state in
        if let flight = state.flights[name] as? Flight<Value> { return (flight, false) }
        let flight = Flight<Value>(work)
        state.flights[name] = flight
        return (flight, true)
      }
      if flight.state.withLock({ $0.join(waiter, id: id) }) { return (flight, isNew) }
      // It ended between the two locks.
      remove(flight, name)
    }
  }

  private func start<Value: Sendable>(
    _ flight: Flight<Value>, _ name: Name, _ work: @escaping @Sendable () async throws -> Value
  ) {
    let task = Task {
      let result: Result<Value, any Error>
      var failure: FlightFailure?
      do { result = .success(try await flight.work.run(work)) } catch {
        result = .failure(error)
        failure = FlightFailure()
      }
      // Removed first, so that a caller that comes after the result starts new work.
      remove(flight, name)
      for waiter in flight.state.withLock({ $0.finish(failure) }) { waiter.resume(with: result) }
    }
    flight.task.withLock { $0 = task }
    // The last caller may have left before there was a task to cancel.
    if !flight.state.withLock({ $0.isOpen }) { task.cancel() }
  }

  private func remove<Value: Sendable>(_ flight: Flight<Value>, _ name: Name) {
    state.withLock { state in
      if state.flights[name] === flight { state.flights[name] = nil }
    }
  }
}

/// The waiters of a piece of work that several callers share. A value: its owner resumes and cancels what it returns,
/// outside of its lock.
struct FlightState<Waiter> {
  private var waiters: [UInt64: Waiter] = [:]
  private(set) var isOpen = true
  private(set) var failure: FlightFailure?

  var count: Int { waiters.count }

  mutating func join(_ waiter: Waiter, id: UInt64) -> Bool {
    guard isOpen else { return false }
    waiters[id] = waiter
    return true
  }

  /// Removes a waiter. Returns `nil` if it has its result already, or has not joined.
  mutating func leave(_ id: UInt64) -> (waiter: Waiter, isLast: Bool)? {
    guard let waiter = waiters.removeValue(forKey: id) else { return nil }
    if waiters.isEmpty { isOpen = false }
    return (waiter, waiters.isEmpty)
  }

  mutating func finish(_ failure: FlightFailure? = nil) -> [Waiter] {
    isOpen = false
    self.failure = failure
    return Array(exchange(&waiters, with: [:]).values)
  }
}

/// The failure of work that several callers share. Each of them receives it, but it has happened once: whatever counts
/// failures can tell by its number.
struct FlightFailure: Sendable {
  /// No other failure in the process has the same number.
  let number: Int

  private static let failures = Locked(0)
  @TaskLocal private static var last: Locked<FlightFailure?>?

  init() {
    number = Self.failures.withLock { $0.increment() }
  }

  /// Notes the failure that the current task has received; `nil` if what follows fails by itself.
  static func received(_ failure: FlightFailure?) { last?.withLock { $0 = failure } }

  /// Returns the result of `body`, and the number of the failure if its error is that of shared work.
  static func watching<Success: Sendable>(
    _ body: () async throws -> Success
  ) async -> (result: Result<Success, any Error>, number: Int?) {
    let inner = Locked<FlightFailure?>(nil)
    do {
      return (.success(try await $last.withValue(inner, operation: body)), nil)
    } catch {
      let failure = inner.withLock { $0 }
      received(failure)
      return (.failure(error), failure?.number)
    }
  }
}
