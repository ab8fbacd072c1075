import Foundation

/// The folder of a store, which no other user can read or write. Paths are relative to it.
final class DiskFolder: Sendable {
  private static let temporaryPrefix = "new-"

  let path: String
  private let directory: URL
  private let isReady = Locked(false)
  private let report: @Sendable (HTTPCache.StorageFailure) -> Void

  init(in directory: URL, report: @escaping @Sendable (HTTPCache.StorageFailure) -> Void) {
    self.directory = directory
    path = directory.appendingPathComponent("EKNetworkHTTPCache-1").path
    self.report = report
  }

  static func isTemporary(_ name: String) -> Bool { name.hasPrefix(temporaryPrefix) }

  /// Returns whether the process that created a temporary file is known to have exited. If that is wrong, because the
  /// process runs in another container, its response is not stored.
  static func isOrphan(_ name: String) -> Bool {
    guard let owner = name.dropFirst(temporaryPrefix.utf8.count).split(separator: "-").first.flatMap({ pid_t($0) }),
      owner > 0
    else { return false }
    return kill(owner, 0) != 0 && errno == ESRCH
  }

  func full(_ name: String) -> String { "\(path)/\(name)" }

  /// Creates the folder if needed, and returns whether it exists and belongs to this user. Checks once; after a
  /// failure, the next call checks again.
  func prepare() -> Bool {
    if isReady.withLock({ $0 }) { return true }
    guard let code = obstacle() else {
      isReady.withLock { $0 = true }
      return true
    }
    fail(.write, path, code)
    return false
  }

  private func obstacle() -> Int32? {
    guard directory.isFileURL else { return ENOTDIR }
    // The umask removes permissions from a new folder, and adds none.
    var isMade = mkdir(path, 0o700) == 0
    if !isMade, errno == ENOENT {
      try? FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      isMade = mkdir(path, 0o700) == 0
    }
    guard isMade || errno == EEXIST else { return errno }
    // In a directory that others can write to, one of them may have created it, or a link to elsewhere.
    var status = stat()
    guard lstat(path, &status) == 0 else { return errno }
    guard status.st_mode & S_IFMT == S_IFDIR else { return ENOTDIR }
    guard status.st_uid == geteuid() else { return EPERM }
    if status.st_mode & 0o077 != 0, chmod(path, 0o700) != 0 { return errno }
    return nil
  }

  // MARK: - The salt

  /// Returns a random text that the folder keeps, and creates it if there is none: without it, whoever reads the files
  /// elsewhere, as in a backup of some of them, could compare their digests with those of likely secrets. Returns `nil`
  /// if that fails.
  ///
  /// - Parameter isNew: Called when the text has just been created.
  func salt(isNew: () -> Void) -> String? {
    guard prepare() else { return nil }
    let path = full(Self.saltName)
    if let salt = storedSalt { return salt }
    guard let (file, temporary) = makeTemporary() else { return nil }
    defer { unlink(temporary) }
    let salt = SHA256.hexadecimal(Self.randomBytes())
    guard file.append(Data(salt.utf8)) else {
      fail(.write, path, errno)
      return nil
    }
    // Unlike `rename`, `link` does not replace what another process has just created.
    guard link(temporary, path) == 0 else {
      if errno == EEXIST, let salt = storedSalt { return salt }
      fail(.write, path, errno)
      return nil
    }
    isNew()
    return salt
  }

  private static let saltName = "salt"

  static func randomBytes() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }

  private var storedSalt: String? {
    let path = full(Self.saltName)
    guard let file = OpenFile(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) else {
      if errno != ENOENT { fail(.read, path, errno) }
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: 64)
    guard bytes.withUnsafeMutableBytes({ file.read(into: $0, at: 0) }) else {
      // Damaged: another is created.
      fail(.read, path, 0)
      unlink(path)
      return nil
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: - Files

  /// Creates a file under a name that is never looked up; returns `nil` on failure.
  func makeTemporary() -> (file: OpenFile, path: String)? {
    guard prepare() else { return nil }
    let name = full("\(Self.temporaryPrefix)\(getpid())-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))")
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
    if let file = OpenFile(name, flags) ?? (errno == ENOENT && prepareAgain() ? OpenFile(name, flags) : nil) {
      return (file, name)
    }
    fail(.write, name, errno)
    return nil
  }

  /// Creates a subfolder, if it does not exist.
  func makeFolder(_ name: String) {
    if mkdir(full(name), 0o700) != 0, errno == ENOENT, prepareAgain() { mkdir(full(name), 0o700) }
  }

  /// Prepares the folder again: systems purge the cache folders of their users.
  private func prepareAgain() -> Bool {
    isReady.withLock { $0 = false }
    return prepare()
  }

  /// Writes a file atomically.
  func write(_ bytes: Data, as name: String) -> Bool {
    guard let (file, temporary) = makeTemporary() else { return false }
    guard file.append(bytes), rename(temporary, full(name)) == 0 else {
      fail(.write, full(name), errno)
      unlink(temporary)
      return false
    }
    return true
  }

  /// Returns the names in the folder, or in a subfolder.
  func names(in folder: String? = nil) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.map(full) ?? path)) ?? []
  }

  func remove(_ name: String) { unlink(full(name)) }

  func exists(_ name: String) -> Bool { access(full(name), F_OK) == 0 }

  /// Marks a file as used now, by its modification time, which is the only record of the order of use.
  func touch(_ name: String) { touch([name]) }

  /// Marks several files as used, the latest last: the system's own time stamps have a resolution of milliseconds, and
  /// would be equal.
  func touch(_ names: [String]) {
    var time = Int64(Date().timeIntervalSince1970 * 1_000_000) - Int64(names.count)
    for name in names {
      time += 1
      let value = timeval(tv_sec: time_t(time / 1_000_000), tv_usec: suseconds_t(time % 1_000_000))
      utimes(full(name), [value, value])
    }
  }

  func fail(_ operation: HTTPCache.StorageFailure.Operation, _ path: String, _ code: Int32) {
    report(HTTPCache.StorageFailure(operation: operation, path: path, code: code))
  }
}
