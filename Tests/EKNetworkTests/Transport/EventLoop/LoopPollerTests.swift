#if os(Linux)
  import CCurl
  import Foundation
  import Testing

  @testable import EKNetwork

  /// What the handler of the signal wakes. Written before the signal is sent.
  private nonisolated(unsafe) var wokenBySignal: Int32 = -1

  @Suite(.serialized, .timeLimit(.minutes(1)))
  struct LoopPollerTests {
    @Test("A thread that cannot be started is no loop") func threads() async {
      #expect(LoopThread(named: "too large", stackSize: 1 << 50) == nil)
      let name: String? = await withCheckedContinuation { continuation in
        guard let thread = LoopThread(named: "a name that is too long") else {
          return continuation.resume(returning: nil)
        }
        thread.run {
          continuation.resume(returning: try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8))
        }
      }
      #expect(name == "a name that is \n")
    }

    /// As when a process is stopped and goes on: signal(7) has `epoll_wait` end for that, whatever has arrived.
    @Test("What is ready after an interruption comes before the deadlines that have passed")
    func interruption() throws {
      var poller: Int32 = -1
      try #require(ekn_poller_open(&poller, &wokenBySignal, 7))
      defer {
        close(poller)
        close(wokenBySignal)
      }
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in ekn_waker_wake(wokenBySignal) }
      var before = sigaction()
      #expect(sigaction(SIGUSR2, &action, &before) == 0)
      defer { sigaction(SIGUSR2, &before, nil) }

      let waiting = Locked<(thread: pthread_t, path: String)?>(nil)
      let found = Locked<[UInt64]?>(nil)
      let thread = Thread { [poller] in
        // Dispatch has its threads block signals, and others inherit that.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGUSR2)
        pthread_sigmask(Int32(SIG_UNBLOCK), &signals, nil)
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        waiting.withLock { $0 = (pthread_self(), "/proc/\(path ?? "")/stat") }
        var ready = [ekn_ready](repeating: ekn_ready(), count: 4)
        let count = Int(ekn_poller_wait(poller, &ready, 4, -1))
        found.withLock { $0 = ready.prefix(max(0, count)).map(\.tag) }
      }
      thread.start()
      while waiting.withLock({ $0 == nil }) { sched_yield() }
      let waiter = try #require(waiting.withLock { $0 })
      // Until the thread sleeps.
      while try !String(contentsOfFile: waiter.path, encoding: .utf8).contains(") S ") {
        sched_yield()
      }
      #expect(pthread_kill(waiter.thread, SIGUSR2) == 0)
      while found.withLock({ $0 == nil }) { sched_yield() }
      #expect(found.withLock { $0 } == [7])
    }
  }
#endif
