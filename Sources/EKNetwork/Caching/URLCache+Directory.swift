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

  /// The directories of this process's caches, within a parent directory named after the process identifier.
  private enum CacheDirectories {
    private static let prefix = "EKNetwork-URLCache-"

    /// Responses may be private, and the temporary directory is shared by all users: `mkdtemp` creates a new directory,
    /// which cannot have existed before and which no other user can read.
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

    /// Removes the directories of processes that have exited. Those of other users cannot be removed.
    private static func removeThoseLeftBehind() {
      let temporary = FileManager.default.temporaryDirectory
      for name in (try? FileManager.default.contentsOfDirectory(atPath: temporary.path)) ?? [] {
        guard name.hasPrefix(prefix), let digits = name.dropFirst(prefix.count).split(separator: "-").first,
          let process = Int32(digits), process > 0
        else { continue }
        // No signal is sent: the call only reports whether the process exists (EPERM: it exists, but is another
        // user's).
        guard process == getpid() || kill(process, 0) == -1 && errno == ESRCH else { continue }
        try? FileManager.default.removeItem(at: temporary.appendingPathComponent(name))
      }
    }
  }
#endif
