#if !canImport(Darwin)
  import Foundation
  import FoundationNetworking

  extension URLCache {
    /// A cache with a directory of its own, as this process and this instance alone have it.
    ///
    /// Apple's platforms have this initialiser; Foundation on Linux asks for a path as well, and lets all caches share
    /// one directory that have none. What is on disk is gone with the process: give a `diskPath` to keep it.
    ///
    /// - Parameters:
    ///   - memoryCapacity: How many bytes to keep in memory.
    ///   - diskCapacity: How many bytes to keep on disk.
    public convenience init(memoryCapacity: Int, diskCapacity: Int) {
      self.init(
        memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, diskPath: CacheDirectories.make())
    }
  }

  /// The directories of this process's caches: one for each, in one that bears the number of the process.
  private enum CacheDirectories {
    private static let prefix = "EKNetwork-URLCache-"

    /// What processes have left behind that are no more is removed, once, before the first is made.
    private static let parent: URL = {
      let temporary = FileManager.default.temporaryDirectory
      for name in (try? FileManager.default.contentsOfDirectory(atPath: temporary.path)) ?? [] {
        guard name.hasPrefix(prefix), let process = Int32(name.dropFirst(prefix.count)), process > 0 else { continue }
        // Nothing is sent: the call only says whether the process is there (and EPERM, that it is another user's).
        guard process == getpid() || kill(process, 0) == -1 && errno == ESRCH else { continue }
        try? FileManager.default.removeItem(at: temporary.appendingPathComponent(name))
      }
      return temporary.appendingPathComponent(prefix + String(getpid()), isDirectory: true)
    }()

    static func make() -> String {
      // Answers may be private: nobody else on the machine may read them.
      try? FileManager.default.createDirectory(
        at: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      return parent.appendingPathComponent(UUID().uuidString, isDirectory: true).path
    }
  }
#endif
