import Foundation

/// The two ends of a pipe; a plain value that its owner closes.
struct WakePipe: Sendable {
  let reading: Int32
  private var writing: Int32

  init?() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    reading = ends[0]
    writing = ends[1]
    _ = fcntl(reading, F_SETFD, FD_CLOEXEC)
    _ = fcntl(writing, F_SETFD, FD_CLOEXEC)
  }

  /// Makes the reading end permanently readable.
  mutating func closeWriting() {
    if writing >= 0 { close(writing) }
    writing = -1
  }

  mutating func closeBoth() {
    closeWriting()
    close(reading)
  }
}
