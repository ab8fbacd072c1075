import Foundation

/// The folder of a queue: a file for each request, named after its position in the order of arrival.
///
/// A file gets its name only when it is complete, and is removed when the request has been delivered: at whatever
/// moment the process is killed, a request is stored completely or not at all.
final class OfflineStore: Sendable {
  struct Loaded {
    var entries: [OfflineQueueEntry] = []
    /// Files that are not valid requests; they are kept.
    var damaged: [URL] = []
    /// The highest position in the order of arrival of any file.
    var lastSequence: UInt64 = 0
  }

  static let bodyExtension = "body"

  private static let mark = Data("EKNQ1 ".utf8)
  /// A position that no queue reaches by counting. Beyond it the positions that follow could not be counted.
  private static let maximumSequence = UInt64(1) << 62
  /// The size of a file that is read into memory in any case: what an earlier queue with the default limit has accepted.
  private static let largestFile = PrismOfflineQueueOptions().maximumBytes
  /// The number of bodies with a descriptor each: on some platforms a process has 256.
  private static let mostOpenBodies = 32

  let directory: URL
  /// Writes a file or a folder to the disk itself; `nil` if that is not wanted.
  private let synchronize: (@Sendable (OpenFile) -> Bool)?
  private let folder: OpenFile
  // Kept open to hold the lock.
  private let lock: Locked<OpenFile>

  /// Opens a folder, which is created if it does not exist, readable by its owner only.
  init(
    _ directory: URL, synchronizes: Bool, synchronize: @escaping @Sendable (OpenFile) -> Bool = { $0.synchronize() }
  ) throws(PrismOfflineQueueError) {
    self.directory = directory
    self.synchronize = synchronizes ? synchronize : nil
    guard directory.isFileURL else { throw .notWritable(directory, code: ENOTDIR) }
    if let code = Self.make(directory, self.synchronize) { throw .notWritable(directory, code: code) }
    guard let folder = OpenFile(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), let owner = folder.status?.st_uid
    else { throw .notWritable(directory, code: errno) }
    // Its owner could put delivered requests back, to have them sent again.
    guard owner == geteuid() || owner == 0 || owner == Self.unnamed(in: directory)?.status?.st_uid else {
      throw .notWritable(directory, code: EPERM)
    }
    guard let (lock, _) = OpenFile.locked(Self.lock(in: directory), mode: 0o600) else {
      let code = errno
      throw code == EWOULDBLOCK ? PrismOfflineQueueError.alreadyOpen(directory) : .notWritable(directory, code: code)
    }
    self.folder = folder
    self.lock = Locked(lock)
  }

  private static func lock(in directory: URL) -> URL { directory.appendingPathComponent("lock") }

  /// Whether the path still leads to the folder that was opened. If it was removed, another queue may have the folder that
  /// has taken its place, with files of the same names.
  private var isInPlace: Bool {
    lock.withLock { lock in
      let url = Self.lock(in: directory)
      if lock.isNamed(url) { return true }
      // If only the lock was removed, as programs do that tidy up, no queue has opened the folder since: it would have made
      // another one.
      var named = stat()
      guard let opened = folder.status, stat(directory.path, &named) == 0, opened.st_ino == named.st_ino,
        opened.st_dev == named.st_dev, access(url.path, F_OK) != 0
      else { return false }
      // Where none can be made, for want of descriptors for example, no other queue has one either.
      guard let (made, isNew) = OpenFile.locked(url, mode: 0o600) else {
        return errno != EWOULDBLOCK && errno != ENOENT
      }
      if isNew { lock = made }
      return isNew
    }
  }

  private func checkPlace() throws(PrismOfflineQueueError) {
    guard !isInPlace else { return }
    throw .notWritable(directory, code: access(directory.path, F_OK) == 0 ? ESTALE : errno)
  }

  /// Throws an error if the body of a request was removed with the folder.
  func checkBody(of entry: OfflineQueueEntry) throws(PrismOfflineQueueError) {
    guard let file = entry.request.bodyFile, file == body(entry.sequence), !isInPlace else { return }
    throw .bodyNotReadable(file)
  }

  /// Creates a folder and those above it, as far as they do not exist. Each is on the disk only when the folder that
  /// contains its name is. Returns an `errno`, or `nil`.
  private static func make(_ directory: URL, _ synchronize: (@Sendable (OpenFile) -> Bool)?) -> Int32? {
    let parent = directory.deletingLastPathComponent()
    if mkdir(directory.path, 0o700) != 0, errno != EEXIST {
      guard errno == ENOENT, parent.path.utf8.count < directory.path.utf8.count else { return errno }
      if let code = make(parent, synchronize) { return code }
      guard mkdir(directory.path, 0o700) == 0 || errno == EEXIST else { return errno }
    }
    // Of an existing one, too: the program may have created it a moment ago.
    return write(namesIn: parent, synchronize)
  }

  /// Writes the names in a folder to the disk. Returns an `errno`, or `nil`.
  private static func write(namesIn directory: URL, _ synchronize: (@Sendable (OpenFile) -> Bool)?) -> Int32? {
    guard let synchronize else { return nil }
    let folder = OpenFile(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if let folder, synchronize(folder) { return nil }
    // Without the right to list the folder above the new one, which a sandbox refuses with EPERM, its names cannot be
    // written. Some file systems have no such operation for folders, and write names in order.
    return [EACCES, EPERM, EINVAL, ENOTSUP, EBADF].contains(errno) ? nil : errno
  }

  /// Returns everything that an earlier queue has left in a folder, and removes the remains of unfinished copies. Files
  /// whose names no queue uses are left alone.
  ///
  /// - Parameters:
  ///   - home: The current home directory, below which the files of requests may be.
  ///   - maximumBytes: The size up to which a file is read into memory, in any case ``largestFile``.
  ///   - opening: Opens a file for reading; returns `nil` on failure, with the reason in `errno`.
  static func load(
    _ directory: URL, home: String = NSHomeDirectory(), maximumBytes: Int64 = 0,
    opening: (URL) -> OpenFile? = { OpenFile($0.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
  ) throws(PrismOfflineQueueError) -> Loaded {
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() } catch {
      throw .notWritable(directory, code: EIO)
    }
    var loaded = Loaded()
    var bodies: Set<String> = []
    var sequences: Set<UInt64> = []
    let own = unnamed(in: directory)?.status
    func open(_ url: URL) throws(PrismOfflineQueueError) -> OpenFile? {
      if let file = opening(url) { return isOwn(file, like: own) ? file : nil }
      let code = errno
      // Too many files are open, or the device is locked, whereupon the folder's lock cannot be opened either: that says
      // nothing about the file.
      if [EMFILE, ENFILE, ENOMEM].contains(code) || code == EPERM && opening(lock(in: directory)) == nil {
        throw .notWritable(directory, code: code)
      }
      return nil
    }
    for name in names {
      let url = directory.appendingPathComponent(name)
      if isPartial(name) {
        unlink(url.path)
      } else if let (sequence, retryCount) = parse(name) {
        if sequence <= maximumSequence { loaded.lastSequence = max(loaded.lastSequence, sequence) }
        bodies.insert(bodyName(sequence))
        if let data = try open(url)?.contents(upTo: max(maximumBytes, largestFile)),
          let entry = try entry(of: data, sequence, retryCount, in: directory, home: home, open)
        {
          if sequences.insert(sequence).inserted {
            loaded.entries.append(entry)
          } else {
            // A rename that was not atomic, or a backup, leaves a request with two counts of its retries.
            unlink(url.path)
          }
        } else {
          loaded.damaged.append(url)
        }
      }
    }
    // A body whose request was removed, or never written.
    for name in names where isBody(name) && !bodies.contains(name) {
      unlink(directory.appendingPathComponent(name).path)
    }
    return loaded
  }

  private static func entry(
    of data: Data, _ sequence: UInt64, _ retryCount: Int, in directory: URL, home: String,
    _ open: (URL) throws(PrismOfflineQueueError) -> OpenFile?
  ) throws(PrismOfflineQueueError) -> OfflineQueueEntry? {
    guard sequence <= maximumSequence, data.starts(with: mark),
      let end = data.firstIndex(of: UInt8(ascii: "\n")),
      case let lengths = String(decoding: data[data.startIndex + mark.count..<end], as: UTF8.self)
        .split(separator: " "),
      lengths.count == 2, let headLength = Int(lengths[0]), let bodyLength = Int(lengths[1]),
      headLength >= 0, bodyLength >= 0, data.endIndex - end - 1 - headLength == bodyLength,
      let stored = try? JSONDecoder().decode(StoredRequest.self, from: data[end + 1..<end + 1 + headLength])
    else { return nil }
    var bytes = Int64(data.count)
    var file: URL?
    switch stored.body {
    case .none, .inline: break
    case .referenced(let path):
      let isThere = access(path, F_OK) == 0
      file = URL(fileURLWithPath: isThere ? path : path.moved(from: stored.home, to: home))
    case .copied:
      let copy = directory.appendingPathComponent(bodyName(sequence))
      guard let size = try open(copy)?.size else { return nil }
      bytes = bytes.addingClamped(size)
      file = copy
    }
    let body = Data(data[(end + 1 + headLength)...])
    return OfflineQueueEntry(
      sequence: sequence, request: stored.request(retryCount: retryCount, data: body, file: file), bytes: bytes)
  }

  /// Returns a new file in a folder, without a name. Its status shows what this process creates there: some file systems map
  /// owners, or store no permissions.
  private static func unnamed(in directory: URL) -> OpenFile? {
    let url = directory.appendingPathComponent("owner.partial")
    defer { unlink(url.path) }
    return make(url)
  }

  /// Returns whether this user has written a file. Another user could otherwise add requests that are sent with this user's
  /// credentials, or with this user's files.
  private static func isOwn(_ file: OpenFile, like own: stat?) -> Bool {
    guard let status = file.status else { return false }
    return status.st_mode & S_IFMT == S_IFREG && status.st_uid == own?.st_uid ?? geteuid()
      && status.st_mode & 0o022 & ~(own?.st_mode ?? 0) == 0
  }

  /// Returns what is before the body in the file of a request.
  static func head(of stored: StoredRequest, bodyLength: Int = 0) throws(PrismOfflineQueueError) -> Data {
    guard let head = try? JSONEncoder().encode(stored) else { throw .noURL }
    return mark + Data("\(head.count) \(bodyLength)\n".utf8) + head
  }

  /// Writes a request. Once this returns, it is stored, whatever happens to the process.
  func write(_ head: Data, _ body: Data, sequence: UInt64, retryCount: Int) throws(PrismOfflineQueueError) {
    // It would not be read by the next run of the program.
    guard sequence <= Self.maximumSequence else { throw .notWritable(directory, code: EOVERFLOW) }
    let file = directory.appendingPathComponent(Self.name(sequence, retryCount))
    try create(file) { $0.append(head + body) ? nil : errno }
  }

  func copy(_ segments: [BodySegment], sequence: UInt64) throws(PrismOfflineQueueError) -> URL {
    let url = body(sequence)
    try create(url) { file throws(PrismOfflineQueueError) in
      do { return try SegmentReader(segments).copy(to: file) } catch {
        throw .bodyNotReadable((error as? RequestBodyError)?.file ?? url)
      }
    }
    return url
  }

  /// Records that a request was tried once more. A crash before that loses the count, not the request.
  func note(_ entry: OfflineQueueEntry, was retryCount: Int) {
    guard isInPlace else { return }
    let old = directory.appendingPathComponent(Self.name(entry.sequence, retryCount))
    let new = directory.appendingPathComponent(Self.name(entry.sequence, entry.request.retryCount))
    guard rename(old.path, new.path) != 0, errno == ENOENT else { return }
    for file in files(of: entry.sequence) where file != new { rename(file.path, new.path) }
  }

  /// Removes a request. If it is still stored after a crash, it is sent once more, with the same key.
  func remove(_ entry: OfflineQueueEntry) {
    removeRequest(entry)
    removeBody(entry.sequence)
  }

  private func removeRequest(_ entry: OfflineQueueEntry) {
    let file = directory.appendingPathComponent(Self.name(entry.sequence, entry.request.retryCount))
    guard isInPlace, unlink(file.path) != 0 else { return }
    for file in files(of: entry.sequence) { unlink(file.path) }
  }

  /// Returns where a request is whose last count could not be written, for example on a full disk: its file has the name of
  /// an earlier count. The lowest count is first.
  private func files(of sequence: UInt64) -> [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    let found = names.compactMap { name in Self.parse(name).map { (name: name, sequence: $0.0, count: $0.1) } }
    return found.filter { $0.sequence == sequence }.sorted { $0.count < $1.count }
      .map { directory.appendingPathComponent($0.name) }
  }

  /// Removes requests and returns them with their bodies, whose files are removed.
  func take(_ entries: [OfflineQueueEntry]) -> [PrismQueuedRequest] {
    let copies = entries.count { $0.request.bodyFile == body($0.sequence) }
    let shared = copies > Self.mostOpenBodies && isInPlace ? Self.unnamed(in: directory) : nil
    return entries.map { take($0, movingBodyTo: shared) }
  }

  private func take(_ entry: OfflineQueueEntry, movingBodyTo shared: OpenFile?) -> PrismQueuedRequest {
    let url = body(entry.sequence)
    guard entry.request.bodyFile == url else {
      remove(entry)
      return entry.request
    }
    guard isInPlace else {
      // Its body was removed with the folder. It must not be sent with that of another queue.
      var lost = entry.request
      lost.bodyFile = url.appendingPathExtension("removed")
      return lost
    }
    guard let open = entry.request.holdingBody(in: shared) else {
      // Too many files are open, or the disk is full: the body stays where it is until the folder is opened again.
      removeRequest(entry)
      return (try? FileSegment(url)).map(entry.request.with) ?? entry.request
    }
    remove(entry)
    return open
  }

  /// Removes a body whose request was removed, or could not be written.
  func removeBody(_ sequence: UInt64) { if isInPlace { unlink(body(sequence).path) } }

  private func body(_ sequence: UInt64) -> URL { directory.appendingPathComponent(Self.bodyName(sequence)) }

  /// Creates a file, which gets its name when `fill` has written all of it. That returns an `errno`, or `nil`.
  private func create(
    _ url: URL, _ fill: (OpenFile) throws(PrismOfflineQueueError) -> Int32?
  ) throws(PrismOfflineQueueError) {
    try checkPlace()
    let partial = url.appendingPathExtension("partial")
    guard let file = Self.make(partial) else { throw .notWritable(directory, code: errno) }
    do throws(PrismOfflineQueueError) {
      if let code = try fill(file) { throw .notWritable(directory, code: code) }
      guard synchronize?(file) != false, rename(partial.path, url.path) == 0 else {
        throw .notWritable(directory, code: errno)
      }
    } catch {
      unlink(partial.path)
      throw error
    }
    if let code = Self.write(namesIn: directory, synchronize) {
      unlink(url.path)
      throw .notWritable(directory, code: code)
    }
  }

  /// Creates a new file, replacing any existing one: never through a link that another user may have put there.
  private static func make(_ partial: URL) -> OpenFile? {
    unlink(partial.path)
    return OpenFile(partial.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC)
  }

  private static func name(_ sequence: UInt64, _ retryCount: Int) -> String {
    sequence.text(digits: 20) + "-\(retryCount).request"
  }

  private static func bodyName(_ sequence: UInt64) -> String { sequence.text(digits: 20) + "." + bodyExtension }

  /// Returns whether a queue has given this name to a body.
  static func isBody(_ name: String) -> Bool {
    let suffix = "." + bodyExtension
    return name.hasSuffix(suffix) && UInt64(name.dropLast(suffix.count)).map(bodyName) == name
  }

  /// Returns whether a queue has given this name to a file that it has not completed.
  private static func isPartial(_ name: String) -> Bool {
    guard name.hasSuffix(".partial") else { return false }
    let whole = String(name.dropLast(8))
    return whole == "owner" || isBody(whole) || parse(whole).map { Self.name($0.0, $0.1) } == whole
  }

  private static func parse(_ name: String) -> (UInt64, Int)? {
    guard name.hasSuffix(".request") else { return nil }
    let parts = name.dropLast(8).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let sequence = UInt64(parts[0]), let retryCount = Int(parts[1]),
      retryCount >= 0
    else { return nil }
    return (sequence, retryCount)
  }
}

extension RequestBodyError {
  fileprivate var file: URL? {
    switch self {
    case .fileNotFound(let url), .notARegularFile(let url), .fileNotReadable(let url, _), .fileChanged(let url, _, _):
      url
    case .lengthMismatch, .alreadySent: nil
    }
  }
}
