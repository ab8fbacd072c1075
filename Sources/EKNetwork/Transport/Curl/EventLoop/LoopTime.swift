/// libcurl's delays and epoll's, in nanoseconds of the loop's clock.
enum LoopTime {
  /// When a timer is due that libcurl asks for; `nil` when it asks for none (less than 0).
  static func timer(milliseconds: Int, now: UInt64) -> UInt64? {
    guard milliseconds >= 0 else { return nil }
    // libcurl rounds its delay down, and after a call that comes too early it does not name the timer again.
    return milliseconds == 0 ? 0 : now.addingClamped(UInt64(clamping: milliseconds).addingClamped(1).milliseconds)
  }

  /// For how many milliseconds a loop may sleep, rounded up; -1 for ever, which is until `.max`.
  static func sleep(until alarm: UInt64, now: UInt64) -> Int32 {
    guard alarm != .max else { return -1 }
    guard alarm > now else { return 0 }
    return Int32(clamping: (alarm - now).addingClamped(999_999) / 1_000_000)
  }
}

extension UInt64 {
  /// So many milliseconds in nanoseconds.
  fileprivate var milliseconds: UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: 1_000_000)
    return overflow ? .max : product
  }
}
