/// What the thread of an event loop and those that start a request directly know of each other.
struct LoopTurn {
  /// Until when the thread sleeps, if it is not woken.
  private(set) var alarm = UInt64.max
  /// Whether a request was started directly while the thread slept.
  var hadDirectStart = false
  /// How many requests there have been at once since there were none.
  private var peak = 0
  private(set) var isIdle = true

  /// Whether a request may be started on the thread that submits it: nothing is under way, and requests come one after
  /// the other. For those that come together one turn of the loop is worth more than to begin with the first at once.
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
  ///   - due: When something under way needs the thread; `.max` for never.
  ///   - cleanup: When something unused is to be freed; `.max` for never.
  /// - Returns: For how many milliseconds the thread may sleep, rounded up; -1 for ever.
  mutating func sleep(due: UInt64, cleanup: UInt64, now: UInt64) -> Int32 {
    // Where nothing is under way any more, an earlier alarm stays: with it in place the next request, whose deadline
    // will be later, needs not wake the thread.
    if due != .max || alarm <= now || cleanup < alarm { alarm = min(due, cleanup) }
    return LoopTime.sleep(until: alarm, now: now)
  }
}
