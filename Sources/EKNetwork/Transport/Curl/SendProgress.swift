/// Whether an upload moves although its body is not read: the kernel may have megabytes of it still to send, and a slow
/// network takes longer for them than a server may be silent.
///
/// A value, driven by looks at what the kernel has still to send, eight in each idle time. A timeout is late by at most one.
struct SendProgress {
  private static var looks: UInt64 { 8 }

  private var lastLook: UInt64 = 0
  private var queued: Int?

  /// When to look again.
  func nextLook(after activity: UInt64, idle: UInt64) -> UInt64 {
    let (sum, overflow) = max(activity, lastLook).addingReportingOverflow(max(1, idle / Self.looks))
    return overflow ? .max : sum
  }

  /// Takes how many bytes the kernel has still to send. `true` when some have left since the last look; of the first look
  /// nobody knows, so that it counts where there are any.
  mutating func hasMoved(queued now: Int, at time: UInt64) -> Bool {
    defer {
      queued = now
      lastLook = time
    }
    return now < queued ?? .max && (queued != nil || now > 0)
  }
}
