/// The time since an instant, in monotonic nanoseconds.
struct ElapsedTime: Sendable {
  private let elapsed: @Sendable () -> Duration

  init<C: Clock>(of clock: C) where C.Duration == Duration {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
  }

  var nanoseconds: UInt64 { elapsed().clampedNanoseconds }
}
