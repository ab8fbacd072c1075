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
