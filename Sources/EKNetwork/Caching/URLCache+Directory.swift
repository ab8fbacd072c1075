#if !canImport(Darwin)
  import Foundation
  import FoundationNetworking

  extension URLCache {
    /// Creates a cache with a directory that only this process and this instance use.
    ///
    /// Apple's platforms have this initialiser; Foundation on Linux requires a path as well, and makes all caches
    /// without one share a directory. The files on disk belong to this process and are removed later: pass a `diskPath`
    /// to keep them.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The memory capacity, in bytes.
    ///   - diskCapacity: The disk capacity, in bytes.
    public convenience init(memoryCapacity: Int, diskCapacity: Int) {
      self.init(
        memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, diskPath: CacheDirectories.make())
    }
  }

  /// The directories of this process's caches, within a parent directory that it holds locked.
  enum CacheDirectories {
    static let prefix = "EKNetwork-URLCache-"
    static let lockName = "lock"

    /// A parent directory and its lock, which the system releases when the process exits, however it does. Not the
    /// process's number: another container, with which the directory may be shared, has the same numbers.
    struct Parent: Sendable {
      let url: URL
      let lock: OpenFile?
    }

    private static let parent: Parent? = {
      let temporary = FileManager.default.temporaryDirectory
      removeThoseLeftBehind(in: temporary)
      return makeParent(in: temporary)
    }()

    static func make() -> String {
      (parent?.url ?? FileManager.default.temporaryDirectory).appendingPathComponent(UUID().uuidString).path
    }

    /// Responses may be private, and the temporary directory is shared by all users: `mkdtemp` creates a new directory,
    /// which cannot have existed before and which no other user can read.
    static func makeParent(in temporary: URL) -> Parent? {
      var path = temporary.appendingPathComponent(prefix + "\(getpid())-XXXXXX").path.utf8CString.map { $0 }
      guard mkdtemp(&path) != nil else { return nil }
      let url = URL(fileURLWithPath: String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
      // Locked before it has its name: a directory whose lock is free belongs to nobody.
      let name = url.appendingPathComponent(lockName).path
      guard let lock = OpenFile(name + ".new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC),
        flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0, rename(name + ".new", name) == 0
      else { return Parent(url: url, lock: nil) }
      return Parent(url: url, lock: lock)
    }

    /// Removes the directories of processes that have exited. Other users may have put anything into the temporary
    /// directory under these names: only what belongs to this user, and to nobody else, is touched, and never by path.
    static func removeThoseLeftBehind(in temporary: URL) {
      guard let folder = OpenFile(temporary.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) else { return }
      for name in folder.names where name.hasPrefix(prefix) {
        guard let own = OpenFile(name, in: folder, ownFolder), own.isPrivate(S_IFDIR, 0o700),
          let lock = OpenFile(lockName, in: own, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
          lock.isPrivate(S_IFREG, 0o600), flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0
        else { continue }
        removeContents(of: own, depth: 8)
        unlinkat(folder.descriptor, name, AT_REMOVEDIR)
      }
    }

    private static let ownFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

    private static func removeContents(of folder: OpenFile, depth: Int) {
      // The lock last: what cannot be removed is tried again by the next process.
      let others = folder.names.filter { $0 != lockName }
      for name in others + [lockName] where unlinkat(folder.descriptor, name, 0) != 0 {
        guard depth > 0, let inner = OpenFile(name, in: folder, ownFolder), inner.status?.st_uid == geteuid() else {
          continue
        }
        removeContents(of: inner, depth: depth - 1)
        unlinkat(folder.descriptor, name, AT_REMOVEDIR)
      }
    }
  }

  extension OpenFile {
    /// The names in a folder.
    fileprivate var names: [String] {
      let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard copy >= 0, let entries = fdopendir(copy) else { return [] }
      defer { closedir(entries) }
      var names: [String] = []
      while let entry = readdir(entries) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { start in
          start.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
      }
      return names
    }

    /// Whether it is of this kind, belongs to this user, and has these permissions.
    fileprivate func isPrivate(_ kind: mode_t, _ permissions: mode_t) -> Bool {
      guard let status else { return false }
      return status.st_mode & S_IFMT == kind && status.st_uid == geteuid()
        && status.st_mode & 0o777 & ~permissions == 0
    }
  }
#endif
