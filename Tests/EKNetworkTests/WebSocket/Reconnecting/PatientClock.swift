@testable import EKNetwork

/// A clock for delays and timeouts together: sleeps of up to an hour return immediately, and are recorded; longer ones
/// end only by cancellation.
struct PatientClock: Clock, Sendable {
  private let recording = RecordingClock()

  var now: RecordingClock.Instant { recording.now }
  var minimumResolution: Duration { .nanoseconds(1) }
  var sleeps: [Duration] { recording.sleeps }

  func sleep(until deadline: RecordingClock.Instant, tolerance: Duration?) async throws {
    guard now.duration(to: deadline) > .seconds(3600) else {
      return try await recording.sleep(until: deadline, tolerance: tolerance)
    }
    for await _ in AsyncStream<Void>.makeStream().stream {}
    try Task.checkCancellation()
  }
}
