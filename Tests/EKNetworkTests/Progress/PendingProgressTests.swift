import Testing

@testable import EKNetwork

@Suite("Reports to the main thread")
struct PendingProgressTests {
  private func update(_ fraction: Double) -> (inout ProgressUpdate) -> Void {
    { $0.advance(to: ProgressUpdate(fraction: fraction)) }
  }

  @Test("Any number of reports schedules one publication, with the furthest progress")
  func oneAtATime() {
    var pending = PendingProgress()
    #expect(pending.report(onMainThread: false, update(0.1)) == .schedule)
    #expect(pending.report(onMainThread: false, update(0.3)) == .nothing)
    #expect(pending.report(onMainThread: false, update(0.2)) == .nothing)
    #expect(pending.take().fraction == 0.3)
    #expect(pending.report(onMainThread: false, update(0.4)) == .schedule)
  }

  @Test("A report on the main thread is published at once")
  func mainThread() {
    var pending = PendingProgress()
    #expect(pending.report(onMainThread: true, update(0.5)) == .publish)
    #expect(pending.take().fraction == 0.5)
    #expect(pending.report(onMainThread: true) { $0 = ProgressUpdate() } == .publish)
    #expect(pending.take().fraction == 0)
  }
}
