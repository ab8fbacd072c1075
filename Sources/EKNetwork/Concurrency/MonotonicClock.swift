import Foundation

/// A monotonic clock in nanoseconds, for the deadlines of a transport's own thread.
enum MonotonicClock {
  static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// An instant of `ContinuousClock`. That one's own type has no size that the compiler knows: structures that contain it are
/// laid out when the program runs, and functions allocate memory for each of them.
struct ContinuousInstant: Comparable, Sendable {
  private static let start = ContinuousClock.now

  private var sinceStart: Duration

  static var now: ContinuousInstant { ContinuousInstant(sinceStart: start.duration(to: .now)) }

  static func + (instant: ContinuousInstant, duration: Duration) -> ContinuousInstant {
    ContinuousInstant(sinceStart: instant.sinceStart + duration)
  }

  static func - (instant: ContinuousInstant, other: ContinuousInstant) -> Duration {
    instant.sinceStart - other.sinceStart
  }

  static func < (instant: ContinuousInstant, other: ContinuousInstant) -> Bool { instant.sinceStart < other.sinceStart }
}

/// The time of a clock since this was created.
struct ElapsedTime: Sendable {
  fileprivate let elapsed: @Sendable () -> Duration
  let sleep: @Sendable (_ until: Duration) async throws -> Void

  var duration: Duration { elapsed() }
  var nanoseconds: UInt64 { elapsed().clampedNanoseconds }
}

extension Clock where Duration == Swift.Duration {
  /// Starts measuring. A method of the protocol, because calling one opens an existential clock.
  func stopwatch() -> ElapsedTime {
    let start = now
    return ElapsedTime(elapsed: { start.duration(to: now) }) {
      try await sleep(until: start.advanced(by: $0), tolerance: nil)
    }
  }
}

extension Duration {
  /// The duration in seconds, for interfaces that take a `TimeInterval`. Fractions of a nanosecond may be lost.
  public var timeInterval: TimeInterval {
    // `components` traps for a duration with more seconds than 64 bits hold.
    guard self > .seconds(Int64.min), self < .seconds(Int64.max) else { return self / .seconds(1) }
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }

  /// The duration in seconds, limited to the range that timers of all platforms can handle: from a millisecond to 31
  /// years.
  ///
  /// Zero and negative durations, which Foundation treats as "no limit" or traps on, become the shortest timeout.
  var timeoutInterval: TimeInterval { min(max(timeInterval, 0.001), 1e9) }

  var clampedNanoseconds: UInt64 {
    guard self > .zero else { return 0 }
    guard self < .seconds(18_446_744_073 as Int64) else { return .max }
    let (seconds, attoseconds) = components
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000
  }

  /// Creates a duration of at most a century, so that no sum with an instant can overflow; `nil` unless `timeInterval`
  /// is positive and finite.
  init?(timeInterval: TimeInterval) {
    guard timeInterval > 0, timeInterval.isFinite else { return nil }
    self = .seconds(min(timeInterval, 100 * 365 * 86_400))
  }

  /// Returns a delay for seconds from an untrusted source: zero if they are not a positive number, and at most a year,
  /// also for infinity, which `Duration` or a clock could not hold.
  static func clamped(seconds: Double) -> Duration {
    guard seconds > 0 else { return .zero }
    return .seconds(min(seconds, 31_536_000))
  }

  /// The duration limited to the range from zero to a year: clocks, and sums with their instants, crash on the greatest
  /// and the least durations, which callers use for "never" and "at once".
  var sleepable: Duration { min(max(self, .zero), .clamped(seconds: .infinity)) }
}

extension FixedWidthInteger {
  /// Returns the number in at least so many digits.
  func text(digits: Int, radix: Int = 10) -> String {
    let text = String(self, radix: radix)
    return String(repeating: "0", count: Swift.max(0, digits - text.count)) + text
  }

  /// Adds one and returns the sum: the next of a series of numbers.
  mutating func increment() -> Self {
    self += 1
    return self
  }

  /// Returns the sum of two non-negative numbers, or the greatest representable number: sizes and times from outside
  /// can have any value.
  func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
