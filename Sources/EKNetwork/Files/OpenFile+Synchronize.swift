import Foundation

extension OpenFile {
  /// Writes the file, or the names in a folder, to the disk itself. Returns `false` if that fails, with the reason in
  /// `errno`.
  @discardableResult
  func synchronize() -> Bool {
    #if canImport(Darwin)
      // On Darwin, fsync leaves the bytes in the drive's cache. Not every file system supports F_FULLFSYNC.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
    #endif
    return fsync(descriptor) == 0
  }
}
