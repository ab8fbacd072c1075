/// Runs at most one piece of work for each key and type of result at a time, and gives its result to all who ask
/// meanwhile. Nothing is remembered once the work is over.
final class SharedFlights<Key: Hashable & Sendable>: Sendable {
  /// The type of the result is a part of the name: work of another type under the same key is other work.
  private struct Name: Hashable {
    let key: Key
    let type: ObjectIdentifier
  }

  private final class Flight<Value: Sendable>: Sendable {
    typealias Waiter = CheckedContinuation<Value, any Error>

    let state = Locked(FlightState<Waiter>())
    let task = Locked<Task<Void, Never>?>(nil)

    /// Ends the work. It may be about to start.
    func cancel() {
      let task = task.withLock { $0 }
      task?.cancel()
    }
  }

  private struct State {
    var flights: [Name: AnyObject] = [:]
    var nextID: UInt64 = 0
  }

  private let state = Locked(State())

  /// How many pieces of work may be joined.
  var count: Int { state.withLock { $0.flights.count } }

  /// How many wait for the work under a key.
  func waiterCount<Value: Sendable>(_ key: Key, _ type: Value.Type) -> Int {
    let flight = state.withLock { $0.flights[Name(key: key, type: ObjectIdentifier(type))] as? Flight<Value> }
    return flight?.state.withLock { $0.count } ?? 0
  }

  /// How many wait for work with such a result, under whatever key.
  func waiterCount<Value: Sendable>(_ type: Value.Type) -> Int {
    let flights = state.withLock { Array($0.flights.values) }
    return flights.reduce(0) { $0 + (($1 as? Flight<Value>)?.state.withLock { $0.count } ?? 0) }
  }

  /// The result of the work in flight under this key, which is started if there is none.
  ///
  /// - Throws: What the work throws, to every caller that waits; `CancellationError` at once when this caller's task is
  ///   cancelled. The work goes on for the others, and is cancelled with the last of them.
  func run<Value: Sendable>(
    _ key: Key, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let name = Name(key: key, type: ObjectIdentifier(Value.self))
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let joined = Locked<Flight<Value>?>(nil)
    return try await withCancellableContinuation { continuation in
      let (flight, isNew) = enter(name, continuation, id)
      joined.withLock { $0 = flight }
      if isNew { start(flight, name, work) }
      return true
    } leave: {
      guard let flight = joined.withLock({ $0 }) else { return nil }
      switch flight.state.withLock({ $0.leave(id) }) {
      case .left(let waiter): return waiter
      case .unknown: return nil
      case .leftLast(let waiter):
        self.remove(flight, name)
        flight.cancel()
        return waiter
      }
    }
  }

  /// Work in flight is not joined any more: what is requested from now on is started from the beginning.
  func seal() {
    let old = state.withLock { state in
      defer { state.flights = [:] }
      return state.flights
    }
    withExtendedLifetime(old) {}
  }

  private func enter<Value: Sendable>(
    _ name: Name, _ waiter: CheckedContinuation<Value, any Error>, _ id: UInt64
  ) -> (Flight<Value>, isNew: Bool) {
    while true {
      let (flight, isNew) = state.withLock { state in
        if let flight = state.flights[name] as? Flight<Value> { return (flight, false) }
        let flight = Flight<Value>()
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
      do { result = .success(try await work()) } catch { result = .failure(error) }
      // First, so that who asks after the result is there starts from the beginning.
      remove(flight, name)
      for waiter in flight.state.withLock({ $0.finish() }) { waiter.resume(with: result) }
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
