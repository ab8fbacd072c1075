import Foundation

/// An open file descriptor, closed when the last reference is released.
final class OpenFile: Sendable {
  let descriptor: Int32

  /// Opens a file; returns `nil` on failure, with the reason in `errno`.
  ///
  /// - Parameter folder: An open folder that the path begins in, whatever its own path has become.
  init?(_ path: String, in folder: OpenFile? = nil, _ flags: Int32, mode: mode_t = 0o600) {
    var descriptor: Int32
    repeat {
      descriptor = openat(folder?.descriptor ?? AT_FDCWD, path, flags, mode)
    } while descriptor < 0 && errno == EINTR
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// How often a file is opened that is replaced each time.
  private static let mostOpenings = 8

  /// Opens the file that a name stands for, or creates it, and locks it. What is written is appended, so that a file that
  /// was truncated meanwhile does not get the length of a complete one.
  ///
  /// Returns `nil` on failure, with the reason in `errno`: EWOULDBLOCK if another owner has the lock, or replaces the file
  /// each time.
  static func locked(
    _ url: URL, mode: mode_t, isNamed: (OpenFile, URL) -> Bool = { $0.isNamed($1) }
  ) -> (file: OpenFile, isNew: Bool)? {
    for _ in 0..<mostOpenings {
      // O_NONBLOCK: the existing file may be a pipe of another program.
      let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
      let made = OpenFile(url.path, flags | O_EXCL, mode: mode)
      guard let file = made ?? OpenFile(url.path, flags, mode: mode), file.lock() else { return nil }
      // The last owner of the lock may have moved or removed what was just opened.
      if isNamed(file, url) { return (file, made != nil) }
    }
    errno = EWOULDBLOCK
    return nil
  }

  /// Locks the file. Returns `false` if that fails, with the reason in `errno`.
  func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  var status: stat? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? status : nil
  }

  /// Returns whether the file is still what a name stands for: another process may have moved or removed it.
  func isNamed(_ url: URL) -> Bool {
    var named = stat()
    guard let status, lstat(url.path, &named) == 0 else { return false }
    return status.st_ino == named.st_ino && status.st_dev == named.st_dev
  }

  var size: Int64? { status.map { Int64($0.st_size) } }

  /// Returns the whole file; `nil` if it cannot be read, or has more bytes than `limit`.
  func contents(upTo limit: Int64) -> Data? {
    guard let size, size <= limit, let count = Int(exactly: size) else { return nil }
    var data = Data(count: count)
    return data.withUnsafeMutableBytes({ read(into: $0, at: 0) }) ? data : nil
  }

  /// Fills a buffer with the bytes from a position on. Returns `false` if they cannot all be read.
  func read(into bytes: UnsafeMutableRawBufferPointer, at position: Int64) -> Bool {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
      let count = pread(descriptor, rest.baseAddress, rest.count, off_t(position + Int64(done)))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  /// Appends bytes to those written before. Returns `false` if they cannot all be written, with the reason in `errno`.
  func append(_ data: Data) -> Bool {
    data.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        // Without progress and without an error the loop would never end.
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }
  }

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

extension String {
  /// Returns where the file with this path is after its home directory has moved, as that of an iOS app does with each update.
  func moved(from old: String?, to home: String) -> String {
    guard let old, old != home else { return self }
    // On Apple's platforms `/var` is a link to `/private/var`: paths occur with and without the prefix.
    for prefix in ["", "/private"] where hasPrefix(prefix + old + "/") {
      return home + dropFirst(prefix.count + old.count)
    }
    return self
  }
}

/// The properties that tell a file from an earlier one at the same path.
struct FileStamp: Hashable, Sendable {
  var device: UInt64 = 0
  var inode: UInt64 = 0
  var size: Int64 = 0
  var modified = Time()
  /// When the file was last changed in any way. A program can set the time of the modification, but not this one.
  var changed = Time()

  struct Time: Hashable, Sendable {
    var seconds = 0
    var nanoseconds = 0

    var text: String { "\(seconds) \(nanoseconds)" }
  }

  /// The same text for the same file.
  var text: String { "\(device) \(inode) \(size) \(modified.text) \(changed.text)" }
}

extension FileStamp {
  /// Returns `nil` if there is no such file.
  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    #if canImport(Darwin)
      let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
    #else
      let (modified, changed) = (status.st_mtim, status.st_ctim)
    #endif
    self.init(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
      modified: Time(seconds: Int(modified.tv_sec), nanoseconds: Int(modified.tv_nsec)),
      changed: Time(seconds: Int(changed.tv_sec), nanoseconds: Int(changed.tv_nsec)))
  }
}
