import Dispatch
import Testing

@testable import EKNetwork

struct ProgressReporterTests {
  /// A manual clock, and the actions scheduled on it.
  private final class ManualTime: Sendable {
    private let state = Locked((now: ContinuousClock.now, scheduled: [@Sendable () -> Void]()))
    var now: ContinuousClock.Instant { state.withLock { $0.now } }
    func schedule(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.scheduled.append(action) } }
    func advance(by duration: Duration) {
      let due = state.withLock { state in
        state.now += duration
        defer { state.scheduled = [] }
        return state.scheduled
      }
      for action in due { action() }
    }
  }

  private func reporter(_ progress: NetworkProgress, _ time: ManualTime) -> ProgressReporter {
    ProgressReporter(progress, now: { time.now }, schedule: { _, action in time.schedule(action) })
  }

  @MainActor @Test func lastReportOfBurstIsPublished() {
    let progress = NetworkProgress()
    let time = ManualTime()
    let reporter = reporter(progress, time)
    reporter.received(10, of: 100)
    #expect(progress.fractionCompleted == 0.1)
    reporter.received(20, of: 100)
    reporter.received(30, of: 100)
    #expect(progress.fractionCompleted == 0.1)
    time.advance(by: .milliseconds(33))
    #expect(progress.fractionCompleted == 0.3)
    reporter.succeeded()
    #expect(progress.fractionCompleted == 1)
  }

  @MainActor @Test func onlyNewRequestResetsProgress() {
    let progress = NetworkProgress()
    let time = ManualTime()
    let first = reporter(progress, time)
    first.sent(1 << 19, of: 1 << 20)
    first.restarted()
    time.advance(by: .seconds(1))
    first.sent(0, of: 1 << 20)
    #expect(progress.fractionCompleted == 0.5)
    first.succeeded()
    let second = reporter(progress, time)
    #expect(progress.fractionCompleted == 0)
    second.succeeded()
    #expect(progress.fractionCompleted == 1)
  }

  #if !canImport(Combine)
    @Test func concurrentReportsEndAtOne() {
      for _ in 0..<50 {
        let progress = NetworkProgress()
        let reporter = ProgressReporter(progress)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
          for step in 0..<100 { reporter.sent(Int64(step * 8 + thread) << 10, of: 1 << 20) }
          if thread == 3 { reporter.succeeded() }
        }
        #expect(progress.fractionCompleted == 1)
      }
    }

    @Test func timerPublishesLastReportOfBurst() async {
      let progress = NetworkProgress()
      let reporter = ProgressReporter(progress)
      reporter.received(1, of: 4)
      reporter.received(2, of: 4)
      for await fraction in progress.$fractionCompleted.values where fraction == 0.5 { break }
      #expect(progress.fractionCompleted == 0.5)
    }
  #endif

  @Test func lateReportOfEarlierRequestIsIgnored() async {
    let progress = NetworkProgress()
    let first = ProgressReporter(progress)
    first.sent(70, of: 100)
    _ = ProgressReporter(progress)
    first.sent(80, of: 100)
    first.succeeded()
    #if canImport(Combine)
      await MainActor.run {}
    #endif
    #expect(progress.fractionCompleted == 0 && progress.completedBytes == 0)
  }
}
