/// The disk usage of a store, as far as one process knows it, and when it has to be surveyed.
struct DiskUsage: Sendable {
  let capacity: Int64
  /// The size that the last survey left; `nil` before the first one.
  private var found: Int64?
  /// The number of bytes written since the last survey began.
  private var written: Int64 = 0
  private var isSurveying = false
  /// The number of bytes that had been written when the current survey began.
  private var seen: Int64 = 0

  /// Limited, so that additions do not overflow: `.max` means no limit.
  init(capacity: Int64) { self.capacity = min(max(0, capacity), Int64(1) << 60) }

  /// The largest body that is stored: a quarter of the capacity.
  var greatestBody: Int64 { capacity / 4 }

  /// Whether the known usage exceeds the capacity.
  var isExceeded: Bool { found.map { $0 + written > capacity } ?? false }

  /// Returns whether a body may be stored: it must not be too large, nor exceed the capacity by too much while eviction
  /// is lagging behind.
  func hasPlace(for body: Int64) -> Bool {
    body <= greatestBody && (found ?? capacity) + written + Self.size(body + 1) <= capacity + capacity / 2
  }

  /// Counts a file, and returns whether the folder is to be surveyed now: at first, when the capacity is exceeded, and
  /// from time to time, as other processes may write as well.
  mutating func add(_ size: Int64) -> Bool {
    written += size
    guard !isSurveying, isExceeded || found == nil || written > capacity / 8 else { return false }
    isSurveying = true
    seen = written
    return true
  }

  /// Records the size that a survey has left.
  mutating func surveyed(_ left: Int64) {
    found = left
    written -= seen
    seen = 0
    isSurveying = false
  }

  /// Records that everything was removed.
  mutating func clear() {
    guard !isSurveying else { return }
    (found, written) = (0, 0)
  }

  /// Returns the disk space of a file, in whole blocks.
  static func size(_ length: Int64) -> Int64 { (min(max(0, length), Int64(1) << 52) + 4095) / 4096 * 4096 }
}
