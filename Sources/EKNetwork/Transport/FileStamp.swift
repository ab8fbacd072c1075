import Foundation

/// The properties that tell a file from an earlier one at the same path.
struct FileStamp: Hashable, Sendable {
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  private let modified: Time
  /// When the file was last changed in any way. A program can set the time of the modification, but not this one.
  private let changed: Time

  private struct Time: Hashable, Sendable {
    let seconds: Int
    let nanoseconds: Int

    init(_ time: timespec) {
      seconds = Int(time.tv_sec)
      nanoseconds = Int(time.tv_nsec)
    }

    var text: String { "\(seconds) \(nanoseconds)" }
  }

  /// The same text for the same file.
  var text: String { "\(device) \(inode) \(size) \(modified.text) \(changed.text)" }

  /// Returns `nil` if there is no such file.
  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    #if canImport(Darwin)
      modified = Time(status.st_mtimespec)
      changed = Time(status.st_ctimespec)
    #else
      modified = Time(status.st_mtim)
      changed = Time(status.st_ctim)
    #endif
  }
}
