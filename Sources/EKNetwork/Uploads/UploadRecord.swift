import Foundation

/// What the state file of an upload contains: where the upload is, and whose it is.
struct UploadRecord: Codable, Equatable, Sendable {
  /// A random text that is part of every digest.
  var salt: String
  /// The name of the protocol.
  var kind: String
  /// A digest of the method and the URL that create the upload; the query may contain secrets.
  var destination: String
  /// A digest of the user, and of the authorities and keys that are trusted.
  var requester: String
  /// ``FileStamp/text``; `nil` if only the upload is to be found.
  var file: String?
  var resource: UploadResource?

  /// Describes the upload that a request creates.
  init(_ hop: HopRequest, _ options: UploadOptions, file: String?, salt: String) {
    self.salt = salt
    self.file = file
    kind = options.resumptionProtocol.rawValue
    destination = RequestIdentity.digest(
      "\(hop.own.httpMethod ?? "GET") \(hop.own.url?.absoluteString ?? "")", salt: salt)
    if let account = options.account {
      requester = "account." + RequestIdentity.digest("\(account)\n\(hop.connection?.trust ?? "")", salt: salt)
    } else {
      requester = RequestIdentity.of(hop, salt: salt).text
    }
  }

  /// Returns whether the upload may be resumed for another record: the same user, destination and file.
  func isSameUpload(as other: UploadRecord) -> Bool {
    salt == other.salt && kind == other.kind && destination == other.destination && requester == other.requester
      && (other.file == nil || file == other.file)
  }
}

/// The file that remembers an upload. It is locked: of two uploads with the same one, in one process or in two, the second
/// fails.
///
/// Not concurrent: it has one owner, which is an actor.
struct UploadRecordFile {
  private let url: URL
  /// The open file that holds the lock, which belongs to the file and not to its name.
  private var file: OpenFile
  private(set) var record: UploadRecord?

  /// Opens the file, or creates an empty one.
  init(_ url: URL) throws(UploadError) {
    guard url.isFileURL else { throw .stateNotUsable(url, code: EINVAL) }
    self.url = url
    var openings = 0
    while true {
      // O_NONBLOCK: the existing file may be a pipe of another program.
      let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
      guard let file = OpenFile(url.path, flags, mode: 0o600) else { throw .stateNotUsable(url, code: errno) }
      try Self.lock(file, url)
      // The last owner of the lock may have replaced or removed what was just opened.
      openings += 1
      guard file.isNamed(url) else {
        if openings < Self.mostOpenings { continue }
        throw .alreadyUploading(url)
      }
      guard let status = file.status, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
        status.st_mode & 0o077 == 0, status.st_nlink <= 1
      else { throw .stateNotUsable(url, code: EPERM) }
      self.file = file
      guard status.st_size > 0 else { return }
      guard status.st_size < Self.largestRecord, let data = file.contents,
        let record = try? JSONDecoder().decode(UploadRecord.self, from: data)
      else { throw .stateNotUsable(url, code: 0) }
      self.record = record
      return
    }
  }

  /// Writes a record, atomically. Without it the upload cannot be resumed later, which is no reason not to upload.
  mutating func save(_ record: UploadRecord) {
    guard record != self.record, let data = try? JSONEncoder().encode(record) else { return }
    let new = url.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString).upload")
    guard let next = OpenFile(new.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode: 0o600) else { return }
    // Locked before it gets the name, under which others find it.
    guard (try? Self.lock(next, url)) != nil, next.append(data), next.synchronize(), rename(new.path, url.path) == 0
    else {
      unlink(new.path)
      return
    }
    file = next
    self.record = record
  }

  /// Removes the file.
  mutating func remove() {
    record = nil
    if file.isNamed(url) { unlink(url.path) }
  }

  private static let largestRecord = 64 * 1024
  /// The number of times that the file is opened if it is replaced at once.
  private static let mostOpenings = 8

  private static func lock(_ file: OpenFile, _ url: URL) throws(UploadError) {
    guard flock(file.descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    if errno == EWOULDBLOCK { throw .alreadyUploading(url) }
    throw .stateNotUsable(url, code: errno)
  }
}
