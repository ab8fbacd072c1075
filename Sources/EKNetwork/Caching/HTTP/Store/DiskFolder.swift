import Foundation

/// The folder of a store, which no other user of the machine can read or write. Paths are relative to it.
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

  /// Whether the process that has made a temporary file is known to be no more. Where that is an error, because it lives
  /// in another container, its response is not stored.
  static func isOrphan(_ name: String) -> Bool {
    guard let owner = name.dropFirst(temporaryPrefix.utf8.count).split(separator: "-").first.flatMap({ pid_t($0) }),
      owner > 0
    else { return false }
    return kill(owner, 0) != 0 && errno == ESRCH
  }

  func full(_ name: String) -> String { "\(path)/\(name)" }

  /// Whether the folder is there, and no other user's. Looks once; what fails is tried again the next time.
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
    // The umask takes from the rights of a new folder, and adds none.
    var isMade = mkdir(path, 0o700) == 0
    if !isMade, errno == ENOENT {
      try? FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      isMade = mkdir(path, 0o700) == 0
    }
    guard isMade || errno == EEXIST else { return errno }
    // Where others may write, one of them may have put it there, or a link to somewhere.
    var status = stat()
    guard lstat(path, &status) == 0 else { return errno }
    guard status.st_mode & S_IFMT == S_IFDIR else { return ENOTDIR }
    guard status.st_uid == geteuid() else { return EPERM }
    if status.st_mode & 0o077 != 0, chmod(path, 0o700) != 0 { return errno }
    return nil
  }

  // MARK: - Files

  /// A new file under a name that is not looked up; `nil` when there cannot be any.
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

  /// Makes a folder within this one, if it is not there.
  func makeFolder(_ name: String) {
    if mkdir(full(name), 0o700) != 0, errno == ENOENT, prepareAgain() { mkdir(full(name), 0o700) }
  }

  /// Systems empty the folders of their users' caches.
  private func prepareAgain() -> Bool {
    isReady.withLock { $0 = false }
    return prepare()
  }

  /// Writes a file that is there as a whole or not at all.
  func write(_ bytes: Data, as name: String) -> Bool {
    guard let (file, temporary) = makeTemporary() else { return false }
    guard file.append(bytes), rename(temporary, full(name)) == 0 else {
      fail(.write, full(name), errno)
      unlink(temporary)
      return false
    }
    return true
  }

  /// The names in the folder, or in one within it.
  func names(in folder: String? = nil) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.map(full) ?? path)) ?? []
  }

  func remove(_ name: String) { unlink(full(name)) }

  func exists(_ name: String) -> Bool { access(full(name), F_OK) == 0 }

  /// Says of a file that it was used now, which is all that there is of an order.
  func touch(_ name: String) { touch([name]) }

  /// The same of several, the latest last: the system's own time goes on by milliseconds, and would make them equal.
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
