@testable import EKNetwork

/// A clock for what waits and times out at once: sleeps of up to an hour are over immediately, and are written down;
/// longer ones end by cancellation alone.
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
