import Foundation

/// The folder of a store, which no other user can read or write. Paths are relative to it.
final class DiskFolder: Sendable {
  private static let temporaryPrefix = "new-"

  let path: String
  private let directory: URL
  private let isReady = Locked(false)
  /// The files that could not be removed: they must not be found again when the folder can be changed.
  private let unremoved = Locked<Set<String>>([])
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

  /// Creates the folder if needed, and returns whether it exists, belongs to this user and can be changed. Checks once;
  /// after a failure, the next call checks again.
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
    // What cannot be removed could not be invalidated either (RFC 9111 §4.4).
    return access(path, R_OK | W_OK | X_OK) == 0 ? nil : errno
  }

  /// Returns a random text that the folder keeps, and creates it if there is none: without it, whoever reads the files
  /// elsewhere, as in a backup of some of them, could compare their digests with those of likely secrets. Returns `nil`
  /// if that fails.
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
    guard file.size == 64, let bytes = file.contents(upTo: 64) else {
      // Damaged: another is created.
      fail(.read, path, 0)
      unlink(path)
      return nil
    }
    return String(decoding: bytes, as: UTF8.self)
  }

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

  func makeFolder(_ name: String) {
    if mkdir(full(name), 0o700) != 0, errno == ENOENT, prepareAgain() { mkdir(full(name), 0o700) }
  }

  /// Prepares the folder again: systems purge the cache folders of their users.
  private func prepareAgain() -> Bool {
    isReady.withLock { $0 = false }
    return prepare()
  }

  /// Writes a file atomically. Returns whether it could be written; `nil` if it was no longer wanted.
  ///
  /// - Parameter isWanted: Asked once the bytes are written, and before they get their name.
  func write(_ bytes: Data, as name: String, if isWanted: () -> Bool = { true }) -> Bool? {
    guard let (file, temporary) = makeTemporary() else { return false }
    let isWritten = file.append(bytes)
    if isWritten, !isWanted() {
      unlink(temporary)
      return nil
    }
    if isWritten, rename(temporary, full(name)) == 0 {
      _ = unremoved.withLock { $0.remove(name) }
      return true
    }
    fail(.write, full(name), errno)
    unlink(temporary)
    return false
  }

  func names(in folder: String? = nil) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.map(full) ?? path)) ?? []
  }

  /// Removes a file, if it is there. If it cannot be, it must not be found again: the folder may have become read-only,
  /// and is checked before its next use.
  func remove(_ name: String) {
    let path = full(name)
    guard unlink(path) != 0 else { return }
    let code = errno
    guard code != ENOENT else { return }
    isReady.withLock { $0 = false }
    _ = unremoved.withLock { $0.insert(name) }
    fail(.write, path, code)
  }

  /// Returns whether the files in a subfolder, whose permissions may be others, can be invalidated, and those are gone that
  /// could not be removed before; `false` if it does not exist.
  func canRemoveFiles(in subfolder: String) -> Bool {
    let path = full(subfolder)
    guard access(path, R_OK | W_OK | X_OK) == 0 else {
      let code = errno
      if code != ENOENT { fail(.write, path, code) }
      return false
    }
    let left = unremoved.withLock { names in names.filter { $0.hasPrefix("\(subfolder)/") } }
    let gone = left.filter { unlink(full($0)) == 0 || errno == ENOENT }
    unremoved.withLock { $0.subtract(gone) }
    return gone.count == left.count
  }

  func exists(_ name: String) -> Bool { access(full(name), F_OK) == 0 }

  /// Marks files as used now, the latest last, by their modification times, which are the only record of the order of
  /// use. The system's own time stamps have a resolution of milliseconds, and would be equal.
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

/// The paths of a response's files: `xx/<URL>-<identity>-<variant>`, with digests in hexadecimal digits; a separate
/// body file has its number appended.
struct DiskName: Sendable {
  /// The variants (RFC 9111 §4.1) of one URL for one identity.
  static let variants = 0..<MemoryStore.maximumVariants

  /// The full key of URL and identity, which is stored in the file.
  let key: String
  let folder: String
  /// ``CacheLocation/trust``.
  let trust: String?
  private let stem: String

  init(_ location: CacheLocation, url: String) {
    folder = Self.folder(url)
    trust = location.trust
    stem = "\(folder)/\(Self.prefix(url))-\(Self.digest(of: location.partition).prefix(16))"
    key = "\(url) \(location.partition)"
  }

  init(_ location: CacheLocation) { self.init(location, url: Self.digest(of: location.url)) }

  static func digest(of text: String) -> String { SHA256.hexadecimal(Array(text.utf8)) }

  static func folder(_ url: String) -> String { String(url.prefix(2)) }

  static func prefix(_ url: String) -> String { String(url.prefix(32)) }

  func path(_ variant: Int) -> String { "\(stem)-\(variant)" }

  static func body(_ path: String, _ number: UInt64) -> String { "\(path).\(String(number, radix: 16))" }
}

/// The disk usage of a store, as far as one process knows it, and when it has to be surveyed.
struct DiskUsage: Sendable {
  let capacity: Int64
  /// The size that the last survey left; `nil` before the first one.
  private var found: Int64?
  /// The number of bytes written since the last survey began.
  private var written: Int64 = 0
  private var isSurveying = false
  /// The number of bytes that had been written when the current survey began.
  private var seen: Int64 = 0
  /// The size of the bodies that are being written, which nothing can evict: ``DiskBodyWriter``.
  private var reserved: Int64 = 0

  /// Limited, so that additions do not overflow: `.max` means no limit.
  init(capacity: Int64) { self.capacity = min(max(0, capacity), Int64(1) << 60) }

  /// The largest body that is stored: a quarter of the capacity.
  var greatestBody: Int64 { capacity / 4 }

  var isExceeded: Bool { found.map { $0 + written > capacity } ?? false }

  /// Returns whether a body may be stored: it must not be too large, nor exceed the capacity by too much while eviction
  /// is lagging behind.
  func hasPlace(for body: Int64) -> Bool { body <= greatestBody && fits(Self.size(body + 1)) }

  /// Reserves a part of the place for a body of at least this length, unless ``hasPlace(for:)`` would refuse it, or the
  /// bodies that are being written, for as long as their readers take, would leave no place for what causes eviction.
  mutating func reserve(_ size: Int64, for body: Int64) -> Bool {
    guard body <= greatestBody, reserved + size <= capacity / 8 * 3, fits(size) else { return false }
    reserved += size
    return true
  }

  mutating func release(_ size: Int64) { reserved -= size }

  private func fits(_ size: Int64) -> Bool {
    (found ?? capacity) + written + reserved + size <= capacity + capacity / 2
  }

  /// Counts a file, and returns whether the folder is to be surveyed now: at first, when the capacity is exceeded, and
  /// from time to time, as other processes may write as well.
  mutating func add(_ size: Int64) -> Bool {
    written += size
    guard !isSurveying, isExceeded || found == nil || written > capacity / 8 else { return false }
    isSurveying = true
    seen = written
    return true
  }

  /// Records the size that a survey has left, and returns whether the folder is to be surveyed again, because what was
  /// written meanwhile exceeds the capacity: there may be no place for the next body, which would otherwise cause it.
  mutating func surveyed(_ left: Int64) -> Bool {
    found = left
    written -= seen
    seen = 0
    isSurveying = false
    return isExceeded && add(0)
  }

  mutating func clear() {
    guard !isSurveying else { return }
    (found, written) = (0, 0)
  }

  /// Returns the disk space of a file, in whole blocks.
  static func size(_ length: Int64) -> Int64 { (min(max(0, length), Int64(1) << 52) + 4095) / 4096 * 4096 }
}
