import Foundation

/// The identity of a file, and when it was last written to.
struct FileVersion: Equatable, Sendable {
  private let device: UInt64
  private let inode: UInt64
  private let seconds: Int64
  private let nanoseconds: Int64

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
    #if canImport(Darwin)
      let modified = status.st_mtimespec
    #else
      let modified = status.st_mtim
    #endif
    seconds = Int64(modified.tv_sec)
    nanoseconds = Int64(modified.tv_nsec)
  }
}
