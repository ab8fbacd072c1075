import Foundation

/// A store of responses in a directory, which several processes may share.
///
/// A response is a file with its fields, and its body if that is small; a larger body is in a separate file beside it.
/// Both are written under a temporary name and then renamed, so that a file under a final name is either complete or
/// was damaged later, which its lengths and digests reveal. There is no index: a file is found by its name, and its
/// modification time is the time of its last use. Nothing is read when the store is opened, and nothing is locked: of
/// two writers of the same response one prevails, as a whole.
final class DiskStore: Sendable {
  /// The largest body that is stored in the file of its response.
  static let greatestInlineBody = 32 * 1024
  /// The largest body that is verified completely before any of it is returned.
  static let greatestCheckedBody: Int64 = 4 * 1024 * 1024
  /// Shared by all stores of a process: no caller waits for its work.
  private static let queue = DispatchQueue(label: "EKNetwork.HTTPCache", qos: .utility)

  enum StoreOutcome {
    case stored
    /// There is no place, or writing has failed.
    case notStored
    /// A more recent response is stored.
    case superseded
  }

  private struct Loaded {
    let path: String
    let record: DiskRecord
    let inlineBody: Data
    var response: StoredResponse { record.response }
  }

  let folder: DiskFolder
  private let usage: Locked<DiskUsage>
  private let saltText = Locked<String?>(nil)
  /// Returns the locations used in memory meanwhile, the oldest first, which would look unused here.
  private let used: @Sendable () -> [CacheLocation]

  init(
    directory: URL, capacity: Int64, used: @escaping @Sendable () -> [CacheLocation] = { [] },
    report: @escaping @Sendable (HTTPCache.StorageFailure) -> Void
  ) {
    folder = DiskFolder(in: directory, report: report)
    usage = Locked(DiskUsage(capacity: capacity))
    self.used = used
  }

  /// A random text that is part of the digests of secrets in this store: ``DiskFolder/salt(isNew:)``.
  var salt: String {
    if let salt = saltText.withLock({ $0 }) { return salt }
    // What earlier versions have stored contains digests without it, and is never found again.
    let salt = folder.salt { self.removeAll() } ?? SHA256.hexadecimal(DiskFolder.randomBytes())
    return saltText.withLock { text in
      let known = text ?? salt
      text = known
      return known
    }
  }

  var greatestBody: Int64 { usage.withLock { $0.greatestBody } }

  /// Returns the newest response that a request selects (RFC 9111 §4), or, if there is none, whether there are others.
  func find(
    _ locations: [CacheLocation], where selects: (StoredResponse) -> Bool
  ) -> (found: (entry: CacheEntry, location: CacheLocation)?, hasOthers: Bool) {
    guard let url = locations.first.map({ DiskName.digest(of: $0.url) }), folder.prepare(),
      folder.canRemoveFiles(in: DiskName.folder(url))
    else { return (nil, false) }
    let all = locations.flatMap { location in variants(DiskName(location, url: url)).map { (location, loaded: $0) } }
    let selected = all.filter { selects($0.loaded.response) }
    for (location, loaded) in selected.sorted(by: { $0.loaded.response.responseTime > $1.loaded.response.responseTime })
    {
      guard let body = body(of: loaded) else { continue }
      folder.touch([loaded.path])
      return ((CacheEntry(response: loaded.response, body: body), location), false)
    }
    return (nil, !all.isEmpty)
  }

  private func variants(_ name: DiskName) -> [Loaded] { DiskName.variants.compactMap { load(name, name.path($0)) } }

  private func load(_ name: DiskName, _ path: String) -> Loaded? {
    let full = folder.full(path)
    // Must not block: the path may be that of a pipe.
    guard let file = OpenFile(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) else {
      if errno != ENOENT { folder.fail(.read, full, errno) }
      return nil
    }
    guard let bytes = file.contents(upTo: Int64(DiskRecord.greatestFields) * 2),
      let (record, length) = bytes.withUnsafeBytes({ DiskRecord.read($0, trust: name.trust) }), record.key == name.key
    else {
      damaged(path)
      return nil
    }
    return Loaded(path: path, record: record, inlineBody: bytes.dropFirst(length))
  }

  private func body(of loaded: Loaded) -> CachedBody? {
    let (record, path) = (loaded.record, loaded.path)
    guard record.bodyFile != 0 else {
      guard Int64(loaded.inlineBody.count) == record.bodyLength, CRC32.of(loaded.inlineBody) == record.bodyDigest
      else {
        damaged(path)
        return nil
      }
      return .data(Data(loaded.inlineBody))
    }
    let bodyPath = DiskName.body(path, record.bodyFile)
    guard
      let file = DiskBody(
        folder.full(bodyPath), number: record.bodyFile, length: record.bodyLength, onDamage: { self.damaged(path) })
    else {
      // Another response may have replaced this one, and removed its file, a moment ago: that is not damage.
      if folder.exists(bodyPath) { damaged(path) }
      return nil
    }
    guard record.bodyLength <= Self.greatestCheckedBody else { return .file(file) }
    return file.data().map { .data($0) }
  }

  /// Returns a writer for a body too large to be stored beside its fields; `nil` on failure, or if there is no place.
  func bodyWriter(for length: Int64) -> DiskBodyWriter? {
    let size = DiskUsage.size(length)
    guard usage.withLock({ $0.reserve(size, for: length) }) else { return nil }
    guard let (file, path) = folder.makeTemporary() else {
      usage.withLock { $0.release(size) }
      return nil
    }
    return DiskBodyWriter(file, at: path, reserved: size, in: usage)
  }

  func failedToWrite(_ code: Int32) { folder.fail(.write, folder.path, code) }

  /// Stores a response, replacing the same variant. If writing fails, the replaced variant is removed nevertheless.
  @discardableResult
  func store(
    _ response: StoredResponse, _ body: BodyGatherer.Content, at location: CacheLocation, now: Date = Date()
  ) -> StoreOutcome {
    guard folder.prepare() else { return .notStored }
    let name = DiskName(location)
    folder.makeFolder(name.folder)
    let (path, replaced) = slot(for: response, name)
    guard !replaced.contains(where: { $0.response.supersedes(response, at: now) }) else { return .superseded }
    var stored: DiskRecord?
    if let (record, inline) = place(body, of: response, name, path) {
      let bytes = record.encoded() + inline
      if folder.write(bytes, as: path) == true {
        stored = record
        count(DiskUsage.size(Int64(bytes.count)) + (record.bodyFile == 0 ? 0 : DiskUsage.size(record.bodyLength)))
      } else if record.bodyFile != 0 {
        folder.remove(DiskName.body(path, record.bodyFile))
      }
    }
    for old in replaced {
      if stored == nil || old.path != path { folder.remove(old.path) }
      if old.record.bodyFile != 0 { folder.remove(DiskName.body(old.path, old.record.bodyFile)) }
    }
    return stored == nil ? .notStored : .stored
  }

  /// Rewrites the fields of a stored response, unless another process has stored another version since, whose body does
  /// not belong to this response.
  func renew(_ former: StoredResponse, as response: StoredResponse, at location: CacheLocation) {
    guard folder.prepare() else { return }
    let name = DiskName(location)
    guard let old = variants(name).first(where: { $0.response.isSame(as: former) }) else { return }
    var record = old.record
    record.response = response
    let bytes = record.encoded() + old.inlineBody
    // What another thread or process has replaced or removed meanwhile stays so.
    let isWritten = folder.write(bytes, as: old.path) {
      load(name, old.path)?.response.isSame(as: former) == true
    }
    switch isWritten {
    case true?: count(DiskUsage.size(Int64(bytes.count)))
    case false?: remove(old.path, record.bodyFile)
    case nil: break
    }
  }

  /// Stores a body in its final place, and returns a record that refers to it; `nil` on failure, or if there is no place.
  private func place(
    _ body: BodyGatherer.Content, of response: StoredResponse, _ name: DiskName, _ path: String
  ) -> (DiskRecord, inline: Data)? {
    let writer: DiskBodyWriter
    switch body {
    case .data(let data):
      guard usage.withLock({ $0.hasPlace(for: Int64(data.count)) }) else { return nil }
      if data.count <= Self.greatestInlineBody { return (DiskRecord(name.key, response, body: data), data) }
      guard let new = bodyWriter(for: Int64(data.count)) else { return nil }
      guard new.append(data) else {
        failedToWrite(errno)
        return nil
      }
      writer = new
    // Its place was reserved while it was written.
    case .written(let written): writer = written
    }
    guard writer.finish(as: folder.full(DiskName.body(path, writer.number))) else {
      failedToWrite(errno)
      return nil
    }
    let record = DiskRecord(key: name.key, response: response, bodyLength: writer.length, bodyFile: writer.number)
    return (record, Data())
  }

  /// Returns the path for a response, and what it replaces: the same variant, which two processes may have stored
  /// twice, or the oldest variant if there is no free place.
  private func slot(for response: StoredResponse, _ name: DiskName) -> (path: String, replaced: [Loaded]) {
    let all = variants(name)
    let same = all.filter { $0.response.isSameVariant(as: response) }
    if let first = same.max(by: { $0.response.responseTime < $1.response.responseTime }) { return (first.path, same) }
    let taken = Set(all.map(\.path))
    if let free = DiskName.variants.lazy.map(name.path).first(where: { !taken.contains($0) }) { return (free, []) }
    let oldest = all.min { $0.response.responseTime < $1.response.responseTime }
    return (oldest?.path ?? name.path(0), oldest.map { [$0] } ?? [])
  }

  /// Removes the same variant as a response.
  ///
  /// - Parameter isOwn: Whether only this response is removed, and not another one that has replaced it.
  func remove(_ response: StoredResponse, at location: CacheLocation, isOwn: Bool = false) {
    for loaded in variants(DiskName(location)) where loaded.response.isSameVariant(as: response) {
      if !isOwn || loaded.response.isSame(as: response) { remove(loaded.path, loaded.record.bodyFile) }
    }
  }

  func removeAll(of url: String) {
    let digest = DiskName.digest(of: url)
    let (subfolder, prefix) = (DiskName.folder(digest), DiskName.prefix(digest))
    for file in folder.names(in: subfolder) where file.hasPrefix(prefix) { folder.remove("\(subfolder)/\(file)") }
  }

  func removeAll() {
    for name in folder.names() {
      if DiskFolder.isTemporary(name) {
        folder.remove(name)
      } else {
        for file in folder.names(in: name) { folder.remove("\(name)/\(file)") }
      }
    }
    usage.withLock { $0.clear() }
  }

  private func remove(_ path: String, _ bodyFile: UInt64) {
    folder.remove(path)
    if bodyFile != 0 { folder.remove(DiskName.body(path, bodyFile)) }
  }

  /// Reports and removes a damaged file, together with all files of the same name, as its contents are unknown.
  private func damaged(_ path: String) {
    folder.fail(.read, folder.full(path), 0)
    let parts = path.split(separator: "/")
    for file in folder.names(in: String(parts[0])) where file == parts[1] || file.hasPrefix("\(parts[1]).") {
      folder.remove("\(parts[0])/\(file)")
    }
  }

  private func count(_ size: Int64) {
    guard usage.withLock({ $0.add(size) }) else { return }
    Self.queue.async { self.survey() }
  }

  func settle() { Self.queue.sync {} }

  /// Measures what is stored, including by other processes, and evicts the least recently used responses down to nine
  /// tenths of the capacity.
  private func survey() {
    let capacity = usage.withLock { $0.capacity }
    var survey = DiskSurvey(folder)
    if survey.bytes > capacity {
      folder.touch(
        used().flatMap { location in
          let name = DiskName(location)
          return DiskName.variants.map(name.path)
        })
      survey = DiskSurvey(folder)
    }
    for file in survey.abandoned { folder.remove(file) }
    let left = survey.evict(downTo: survey.bytes > capacity ? capacity / 10 * 9 : capacity) { folder.remove($0) }
    if usage.withLock({ $0.surveyed(left) }) { Self.queue.async { self.survey() } }
  }
}

/// A survey of the folder of a store: each response with its bodies, their sizes, and when they were used.
struct DiskSurvey {
  /// The age in seconds at which an unchanged temporary file, or a body without a response, counts as abandoned.
  private static let abandonedAge: TimeInterval = 3600

  struct Response {
    /// The path of the record, relative to the store's folder.
    var name: String
    /// The body files of the response: at most one, unless two processes have stored it at the same time.
    var bodies: [String] = []
    var bytes: Int64 = 0
    /// The time of the record's last use; 0 if there is no record.
    var used = 0.0
    /// The time at which the newest of the bodies was written.
    var written = 0.0

    var hasRecord: Bool { used > 0 }
    /// Whether there is a record with at most one body: otherwise the record is missing, or two processes have stored
    /// the response at the same time, and which body belongs to the record is not known here.
    var isClear: Bool { bodies.count < (hasRecord ? 2 : 1) }
  }

  private(set) var responses: [Response] = []
  /// Temporary files whose process has exited, and unreferenced files that were unchanged for long.
  private(set) var abandoned: [String] = []
  /// The size of the responses. What is being written cannot be evicted, and must not make others be.
  private(set) var bytes: Int64 = 0

  init(_ folder: DiskFolder, now: Date = Date()) {
    let limit = now.timeIntervalSince1970 - Self.abandonedAge
    for name in folder.names() {
      if DiskFolder.isTemporary(name) {
        guard let (_, time) = Self.status(folder.full(name)) else { continue }
        if time < limit || DiskFolder.isOrphan(name) { abandoned.append(name) }
      } else {
        add(folder, name, limit)
      }
    }
  }

  private mutating func add(_ folder: DiskFolder, _ name: String, _ limit: Double) {
    var found: [Substring: Response] = [:]
    for file in folder.names(in: name) {
      guard let (size, time) = Self.status(folder.full("\(name)/\(file)")) else { continue }
      let record = file.prefix { $0 != "." }
      var response = found[record] ?? Response(name: "\(name)/\(record)")
      response.bytes += size
      if record.utf8.count == file.utf8.count {
        response.used = time
      } else {
        response.bodies.append("\(name)/\(file)")
        response.written = max(response.written, time)
      }
      found[record] = response
    }
    for response in found.values {
      if response.isClear || response.written >= limit {
        responses.append(response)
        bytes += response.bytes
      } else {
        abandoned += (response.hasRecord ? [response.name] : []) + response.bodies
      }
    }
  }

  /// Removes the least recently used responses until the size is within the limit, and returns the remaining size.
  func evict(downTo limit: Int64, _ remove: (String) -> Void) -> Int64 {
    var rest = bytes
    guard rest > limit else { return rest }
    func time(_ response: Response) -> Double { max(response.used, response.hasRecord ? 0 : response.written) }
    for response in responses.sorted(by: { time($0) < time($1) }) where rest > limit {
      // The record first: a body without a record cannot be found.
      if response.hasRecord { remove(response.name) }
      for body in response.bodies { remove(body) }
      rest -= response.bytes
    }
    return rest
  }

  private static func status(_ path: String) -> (size: Int64, time: Double)? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    let (size, time) = (Int64(status.st_size), FileStamp(status).modified)
    return (DiskUsage.size(size), Double(time.seconds) + Double(time.nanoseconds) / 1e9)
  }
}

/// A log of when the responses for a URL, or a key, were last invalidated or removed: a response that was requested
/// before that is outdated, and must not be stored afterwards.
struct InvalidationLog: Sendable {
  /// The maximum number of URLs remembered; all others are then treated as having just been invalidated.
  private static let memory = 1024

  /// The number of invalidations so far. No epoch is greater, and that of each later invalidation is.
  private(set) var count = 0
  private var latest: [String: Int] = [:]
  private var latestOfOthers = 0

  /// Returns a number that changes with each invalidation of a URL.
  func epoch(of url: String) -> Int { latest[url] ?? latestOfOthers }

  mutating func note(_ url: String) {
    if latest.count >= Self.memory { noteAll() }
    count += 1
    latest[url] = count
  }

  mutating func noteAll() {
    count += 1
    latest = [:]
    latestOfOthers = count
  }
}
