import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct TokenRefreshCoordinatorTests {
  struct Oops: Error, Equatable { var call: Int }

  /// A provider as the documentation shows it: a plain class. What it does is given by the test.
  final class Provider: TokenRefreshProvider {
    private(set) var calls = 0
    let body: (Int) async throws -> Void
    init(_ body: @escaping (Int) async throws -> Void = { _ in }) { self.body = body }
    func refreshTokenIfNeeded() async throws {
      calls += 1
      try await body(calls)
    }
  }

  /// Yields until the condition holds. What it waits for is certain to come; how many turns it takes is not.
  func reached(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  /// However early the deadline, the waiter is found, and the refresh goes on.
  @Test func waitingEndsAtTheDeadline() async throws {
    let coordinator = TokenRefreshCoordinator()
    let gate = Gate()
    let provider = Provider { _ in await gate.wait() }
    for delay in [Duration.seconds(-1), .zero, .milliseconds(1)] {
      let error = await #expect(throws: URLError.self) {
        try await coordinator.refresh(ifNewerThan: 0, using: provider, until: .now + delay)
      }
      #expect(error?.code == .timedOut)
    }
    #expect(coordinator.isRefreshing && coordinator.waiterCount == 0)
    await gate.open()
    try await coordinator.refresh(ifNewerThan: 0, using: provider)
  }

  @Test func aThousandRequestsCauseOneRefresh() async throws {
    let coordinator = TokenRefreshCoordinator()
    let gate = Gate()
    let calls = Locked(0)
    let requests = (0..<1000).map { _ in
      Task {
        let provider = Provider { _ in
          calls.withLock { $0 += 1 }
          await gate.wait()
        }
        try await coordinator.refresh(ifNewerThan: 0, using: provider)
        return coordinator.generation
      }
    }
    await reached { coordinator.waiterCount == 1000 }
    await gate.open()
    for request in requests { #expect(try await request.value == 1) }
    #expect(calls.withLock { $0 } == 1)
    #expect(coordinator.waiterCount == 0)
    #expect(!coordinator.isRefreshing)
  }

  @Test func olderTokenCausesNoRefresh() async throws {
    let coordinator = TokenRefreshCoordinator()
    let provider = Provider()
    try await coordinator.refresh(ifNewerThan: 0, using: provider)
    try await coordinator.refresh(ifNewerThan: 0, using: provider)
    #expect(provider.calls == 1)
    try await coordinator.refresh(ifNewerThan: coordinator.generation, using: provider)
    #expect(provider.calls == 2)
    #expect(coordinator.generation == 2)
  }

  /// The current token was rejected as well.
  @Test func olderTokenJoinsARefreshInFlight() async throws {
    let coordinator = TokenRefreshCoordinator()
    let gate = Gate()
    try await coordinator.refresh(ifNewerThan: 0, using: Provider())
    let first = Task { try await coordinator.refresh(ifNewerThan: 1, using: Provider { _ in await gate.wait() }) }
    await reached { coordinator.isRefreshing }
    let second = Task {
      try await coordinator.refresh(ifNewerThan: 0, using: Provider { _ in throw Oops(call: 1) })
    }
    await reached { coordinator.waiterCount == 2 }
    await gate.open()
    try await first.value
    try await second.value
    #expect(coordinator.generation == 2)
  }

  @Test func failureReachesEveryWaiterAndAllowsANewRefresh() async throws {
    let coordinator = TokenRefreshCoordinator()
    let gate = Gate()
    let failing = { @Sendable in
      try await coordinator.refresh(
        ifNewerThan: 0,
        using: Provider { _ in
          await gate.wait()
          throw Oops(call: 1)
        })
    }
    let requests = (0..<50).map { _ in Task { try await failing() } }
    await reached { coordinator.waiterCount == 50 }
    await gate.open()
    for request in requests {
      await #expect(throws: Oops(call: 1)) { try await request.value }
    }
    #expect(coordinator.generation == 0)
    try await coordinator.refresh(ifNewerThan: 0, using: Provider())
    #expect(coordinator.generation == 1)
  }

  @Test func cancelledWaiterLeavesAndTheRefreshContinues() async throws {
    let coordinator = TokenRefreshCoordinator()
    let gate = Gate()
    let refreshWasCancelled = Locked<Bool?>(nil)
    // The task that started the refresh is cancelled as well.
    let first = Task {
      try await coordinator.refresh(
        ifNewerThan: 0,
        using: Provider { _ in
          await gate.wait()
          refreshWasCancelled.withLock { $0 = Task.isCancelled }
        })
    }
    await reached { coordinator.waiterCount == 1 }
    let second = Task { try await coordinator.refresh(ifNewerThan: 0, using: Provider()) }
    let third = Task { try await coordinator.refresh(ifNewerThan: 0, using: Provider()) }
    await reached { coordinator.waiterCount == 3 }
    first.cancel()
    second.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    await #expect(throws: CancellationError.self) { try await second.value }
    #expect(coordinator.isRefreshing)
    #expect(coordinator.waiterCount == 1)
    await gate.open()
    try await third.value
    #expect(refreshWasCancelled.withLock { $0 } == false)
    #expect(coordinator.generation == 1)
  }

  @Test func cancelledTaskStartsNoRefresh() async {
    let coordinator = TokenRefreshCoordinator()
    let gate = Gate()
    let request = Task {
      await gate.wait()
      try await coordinator.refresh(ifNewerThan: 0, using: Provider())
    }
    request.cancel()
    await gate.open()
    await #expect(throws: CancellationError.self) { try await request.value }
    #expect(coordinator.generation == 0)
    #expect(!coordinator.isRefreshing)
  }

  @Test func requestInsideTheRefreshFails() async throws {
    let coordinator = TokenRefreshCoordinator()
    await #expect(throws: NetworkError.unauthorized) {
      try await coordinator.refresh(
        ifNewerThan: 0,
        using: Provider { _ in try await coordinator.refresh(ifNewerThan: 0, using: Provider()) })
    }
    // The same from child tasks and from an unstructured one.
    try await coordinator.refresh(
      ifNewerThan: 0,
      using: Provider { _ in
        await withTaskGroup { group in
          group.addTask {
            await #expect(throws: NetworkError.unauthorized) {
              try await coordinator.refresh(ifNewerThan: 0, using: Provider())
            }
          }
        }
        let task = Task { try await coordinator.refresh(ifNewerThan: 0, using: Provider()) }
        await #expect(throws: NetworkError.unauthorized) { try await task.value }
      })
    #expect(coordinator.generation == 1)
  }

  @Test func taskOutlivingItsRefreshMayRefreshAgain() async throws {
    let coordinator = TokenRefreshCoordinator()
    let gate = Gate()
    let survivor = Locked<Task<Void, any Error>?>(nil)
    try await coordinator.refresh(
      ifNewerThan: 0,
      using: Provider { _ in
        let task = Task {
          await gate.wait()
          try await coordinator.refresh(ifNewerThan: 1, using: Provider())
        }
        survivor.withLock { $0 = task }
      })
    await gate.open()
    try await survivor.withLock { $0 }?.value
    #expect(coordinator.generation == 2)
  }

  @Test func refreshCycleAcrossCoordinatorsFails() async throws {
    let mine = TokenRefreshCoordinator()
    let other = TokenRefreshCoordinator()
    try await mine.refresh(
      ifNewerThan: 0,
      using: Provider { _ in
        try await other.refresh(
          ifNewerThan: 0,
          using: Provider { _ in
            await #expect(throws: NetworkError.unauthorized) {
              try await mine.refresh(ifNewerThan: 0, using: Provider())
            }
          })
      })
    #expect(mine.generation == 1)
    #expect(other.generation == 1)
  }

  /// Records where it runs: its method has no isolation of its own.
  final class Witness: TokenRefreshProvider {
    var wasOnMainActor: Bool?
    func refreshTokenIfNeeded() async throws { wasOnMainActor = #isolation === MainActor.shared }
  }

  @MainActor @Test func refreshRunsOffTheCallersActor() async throws {
    let witness = Witness()
    try await TokenRefreshCoordinator().refresh(ifNewerThan: 0, using: witness)
    #expect(witness.wasOnMainActor == false)
  }

  @Test func nothingIsLostOrResumedTwiceUnderRandomCancellation() async throws {
    // A continuation resumed twice traps, and one that is lost runs into the time limit.
    let coordinator = TokenRefreshCoordinator()
    var random = Xorshift(state: 0x9E37_79B9_7F4A_7C15)
    for round in 0..<10 {
      let running = Locked(0)
      let generation = coordinator.generation
      let requests = (0..<1000).map { number in
        Task {
          let provider = Provider { _ in
            let now = running.withLock { count in
              count += 1
              return count
            }
            #expect(now == 1)
            for _ in 0..<(round * 20) { await Task.yield() }
            running.withLock { $0 -= 1 }
            if number.isMultiple(of: 3) { throw Oops(call: number) }
          }
          try await coordinator.refresh(ifNewerThan: generation, using: provider)
        }
      }
      for request in requests where random.next() % 3 == 0 {
        request.cancel()
        if random.next() % 8 == 0 { await Task.yield() }
      }
      for request in requests {
        switch await request.result {
        case .success: #expect(coordinator.generation > generation)
        case .failure(let error): #expect(error is CancellationError || error is Oops)
        }
      }
      // The last refresh may continue without any waiter.
      await reached { !coordinator.isRefreshing }
      #expect(coordinator.waiterCount == 0)
      #expect(coordinator.generation <= generation + 1)
    }
  }

  struct Xorshift: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
  }

  /// Suspends waiters until it is opened.
  actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    func wait() async {
      if isOpen { return }
      await withCheckedContinuation { waiting.append($0) }
    }
    func open() {
      isOpen = true
      for continuation in waiting { continuation.resume() }
      waiting = []
    }
  }
}
