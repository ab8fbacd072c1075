/// How much a store has on disk, as far as one process knows, and when it has to look.
struct DiskUsage: Sendable {
  let capacity: Int64
  /// What the last look has found, and left; `nil` before the first one.
  private var found: Int64?
  /// What was written since the last look began.
  private var written: Int64 = 0
  private var isLooking = false
  /// What had been written when the look that is under way began.
  private var seen: Int64 = 0

  /// No more than can be added to without an overflow: who says `.max` wants no limit.
  init(capacity: Int64) { self.capacity = min(max(0, capacity), Int64(1) << 60) }

  /// One response may take a quarter of it all.
  var greatestBody: Int64 { capacity / 4 }

  /// Whether what is there, as far as that is known, is too much.
  var isExceeded: Bool { found.map { $0 + written > capacity } ?? false }

  /// Whether a body may be stored: not if it is too large, or would go too far beyond the capacity because what has to
  /// make place for it is late.
  func hasPlace(for body: Int64) -> Bool {
    body <= greatestBody && (found ?? capacity) + written + Self.size(body + 1) <= capacity + capacity / 2
  }

  /// Counts a file. Whether the folder is to be surveyed now: at first, when there is too much, and from time to time, for other
  /// processes may write as well.
  mutating func add(_ size: Int64) -> Bool {
    written += size
    guard !isLooking, isExceeded || found == nil || written > capacity / 8 else { return false }
    isLooking = true
    seen = written
    return true
  }

  /// What a look has left.
  mutating func looked(_ left: Int64) {
    found = left
    written -= seen
    seen = 0
    isLooking = false
  }

  /// Everything is gone.
  mutating func clear() {
    guard !isLooking else { return }
    (found, written) = (0, 0)
  }

  /// What a file of that length takes: whole blocks.
  static func size(_ length: Int64) -> Int64 { (min(max(0, length), Int64(1) << 52) + 4095) / 4096 * 4096 }
}
