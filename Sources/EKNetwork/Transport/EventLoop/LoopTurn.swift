/// The state that the thread of an event loop shares with the threads that start a request directly.
struct LoopTurn {
  /// The time until which the thread sleeps if it is not woken.
  private(set) var alarm = UInt64.max
  /// Whether a request was started directly while the thread slept.
  var hadDirectStart = false
  /// The maximum number of concurrent requests since there were none.
  private var peak = 0
  private(set) var isIdle = true

  /// Whether a request may be started on the thread that submits it: nothing is in progress, and requests arrive one at
  /// a time. For requests that arrive together, one turn of the loop is worth more than beginning the first at once.
  var allowsDirectStart: Bool { isIdle && peak <= 1 }

  mutating func began(_ requests: Int) {
    guard requests > 0 else { return }
    peak = isIdle ? requests : max(peak, requests)
    isIdle = false
  }

  mutating func ended(_ requests: Int) { isIdle = requests == 0 }

  /// Sets the alarm.
  ///
  /// - Parameters:
  ///   - due: When a request in progress needs the thread; `.max` for never.
  ///   - cleanup: When an unused resource has to be freed; `.max` for never.
  /// - Returns: The number of milliseconds for which the thread may sleep, rounded up; -1 for ever.
  mutating func sleep(due: UInt64, cleanup: UInt64, now: UInt64) -> Int32 {
    // If nothing is in progress any more, an earlier alarm is kept: the next request, whose deadline will be later,
    // then does not need to wake the thread.
    if due != .max || alarm <= now || cleanup < alarm { alarm = min(due, cleanup) }
    return LoopTime.sleep(until: alarm, now: now)
  }
}

/// Conversions of libcurl's and epoll's delays, in nanoseconds of the loop's clock.
enum LoopTime {
  /// Returns when a timer that libcurl requests is due, or `nil` if it requests none (less than 0).
  static func timer(milliseconds: Int, now: UInt64) -> UInt64? {
    guard milliseconds >= 0 else { return nil }
    // libcurl rounds its delay down, and does not request the timer again after a call that comes too early.
    return milliseconds == 0 ? 0 : now.addingClamped(UInt64(clamping: milliseconds).addingClamped(1).milliseconds)
  }

  /// Returns for how many milliseconds a loop may sleep, rounded up; -1 for ever, if `alarm` is `.max`.
  static func sleep(until alarm: UInt64, now: UInt64) -> Int32 {
    guard alarm != .max else { return -1 }
    guard alarm > now else { return 0 }
    return Int32(clamping: (alarm - now).addingClamped(999_999) / 1_000_000)
  }
}

extension UInt64 {
  /// This number of milliseconds in nanoseconds.
  fileprivate var milliseconds: UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: 1_000_000)
    return overflow ? .max : product
  }
}
