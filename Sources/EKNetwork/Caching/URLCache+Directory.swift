#if !canImport(Darwin)
  import Foundation
  import FoundationNetworking

  extension URLCache {
    /// A cache with a directory of its own, as this process and this instance alone have it.
    ///
    /// Apple's platforms have this initialiser; Foundation on Linux asks for a path as well, and lets all caches share
    /// one directory that have none. What is on disk is this process's alone, and removed later: give a `diskPath` to
    /// keep it.
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

    /// Responses may be private, and the directory for temporary files is shared by all users: `mkdtemp` makes a new one, that
    /// cannot have been there before, and that no other user may read.
    private static let parent: URL? = {
      removeThoseLeftBehind()
      let name = prefix + "\(getpid())-XXXXXX"
      var path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path.utf8CString.map { $0 }
      guard mkdtemp(&path) != nil else { return nil }
      return URL(fileURLWithPath: String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }()

    static func make() -> String {
      (parent ?? FileManager.default.temporaryDirectory).appendingPathComponent(UUID().uuidString).path
    }

    /// What processes have left behind that are no more. Others' directories cannot be removed.
    private static func removeThoseLeftBehind() {
      let temporary = FileManager.default.temporaryDirectory
      for name in (try? FileManager.default.contentsOfDirectory(atPath: temporary.path)) ?? [] {
        guard name.hasPrefix(prefix), let digits = name.dropFirst(prefix.count).split(separator: "-").first,
          let process = Int32(digits), process > 0
        else { continue }
        // Nothing is sent: the call only says whether the process is there (and EPERM, that it is another user's).
        guard process == getpid() || kill(process, 0) == -1 && errno == ESRCH else { continue }
        try? FileManager.default.removeItem(at: temporary.appendingPathComponent(name))
      }
    }
  }
#endif
