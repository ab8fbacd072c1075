/// How long it is since some moment, in nanoseconds that never go back.
struct ElapsedTime: Sendable {
  private let elapsed: @Sendable () -> Duration

  init<C: Clock>(of clock: C) where C.Duration == Duration {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
  }

  var nanoseconds: UInt64 { elapsed().clampedNanoseconds }
}
