import Foundation

/// The properties of a response head that an upload needs.
struct UploadHead: Equatable, Sendable {
  var status: Int
  /// The URL that responded; `nil` if it is unknown.
  var url: URL?
  /// Whether redirects have led to another origin.
  var isFromOtherOrigin = false
  var location: String?
  var offset: Int64?
  var length: Int64?
  var isComplete: Bool?
  var limits = UploadLimits()
  var version: String?

  init(status: Int) { self.status = status }

  init(_ head: ResponseHead, status: Int) {
    self.status = status
    url = head.url
    isFromOtherOrigin = head.isFromOtherOrigin
    // Of a field with different values none counts.
    location = head.hint("location")
    offset = head.hint("upload-offset").flatMap(Self.integer)
    length = head.hint("upload-length").flatMap(Self.integer)
    isComplete = head.hint("upload-complete").flatMap(Self.boolean)
    limits = head.value("upload-limit").flatMap(UploadLimits.init) ?? UploadLimits()
    if let size = head.hint("tus-max-size").flatMap(Self.integer) { limits.maximumSize = limits.maximumSize ?? size }
    version = head.hint("tus-version")
  }

  /// Returns a number that is not negative (RFC 9651 §3.3.1, without its parameters); tus has no other form.
  static func integer(_ text: String) -> Int64? {
    let digits = item(text)
    guard (1...18).contains(digits.utf8.count), digits.utf8.allSatisfy(\.isDigit) else { return nil }
    return Int64(digits)
  }

  /// RFC 9651 §3.3.6.
  static func boolean(_ text: String) -> Bool? { ["?1": true, "?0": false][item(text)] }

  private static func item(_ text: String) -> Substring { text.prefix { $0 != ";" }.trimmingBlanks() }
}

/// The limits of a server (draft §4.1.4), in bytes.
struct UploadLimits: Equatable, Sendable {
  var maximumSize: Int64?
  var maximumPart: Int64?
  var minimumPart: Int64?

  init() {}

  /// Parses a dictionary (RFC 9651 §3.2); returns `nil` for a member of the wrong type, for which the draft requires that the
  /// whole field is ignored.
  init?(_ text: String) {
    let limits: [Substring: WritableKeyPath<UploadLimits, Int64?>] = [
      "max-size": \.maximumSize, "max-append-size": \.maximumPart, "min-append-size": \.minimumPart,
    ]
    for member in FieldList.members(text) {
      let parts = member.split(separator: "=", maxSplits: 1)
      guard let name = parts.first, let limit = limits[name] else { continue }
      guard parts.count == 2, let value = UploadHead.integer(String(parts[1])) else { return nil }
      self[keyPath: limit] = value
    }
  }

  /// Replaces those limits that a later response has.
  mutating func update(_ other: UploadLimits) {
    maximumSize = other.maximumSize ?? maximumSize
    maximumPart = other.maximumPart ?? maximumPart
    minimumPart = other.minimumPart ?? minimumPart
  }
}

/// An upload on a server.
struct UploadResource: Codable, Equatable, Sendable {
  var url: URL
  /// Whether the URL is of another origin than the request, or was chosen by one: credentials are not sent there.
  var isOfOtherOrigin: Bool

  /// Creates the upload that a response's `Location` names; `nil` if it cannot be used. The rules are those of redirects.
  ///
  /// - Parameter requested: The URL of the request, before redirects.
  init?(_ head: UploadHead, requested: URL) {
    let source = (head.url ?? requested).withoutCredentials
    guard let location = head.location, !location.isEmpty,
      let url = ServerURL.resolve(location, against: source)?.withoutCredentials,
      RedirectState.refusal(of: url, from: source) == nil, let origin = Origin(url)
    else { return nil }
    self.url = url
    let own = Origin(requested)
    isOfOtherOrigin = head.isFromOtherOrigin || Origin(source) != own || origin != own
  }
}

/// What the state file of an upload contains: where the upload is, and whose it is.
struct UploadRecord: Codable, Equatable, Sendable {
  /// A random text that is part of every digest.
  var salt: String
  var kind: String
  /// A digest of the method and the URL that create the upload; the query may contain secrets.
  var destination: String
  /// A digest of the user, and of the authorities and keys that are trusted.
  var requester: String
  /// ``FileStamp/text``; `nil` if only the upload is to be found.
  var file: String?
  var resource: UploadResource?
  /// Whether the server may have completed the upload; `nil` if it has not.
  var mayBeComplete: Bool?

  init(_ hop: HopRequest, _ options: UploadOptions, file: String?, salt: String) {
    self.salt = salt
    self.file = file
    kind = options.resumptionProtocol.rawValue
    destination = RequestIdentity.digest(
      "\(hop.own.method) \(hop.own.url.absoluteString)", salt: salt)
    if let account = options.account {
      requester = "account." + RequestIdentity.digest("\(account)\n\(hop.connection?.trust ?? "")", salt: salt)
    } else {
      requester = RequestIdentity.of(hop, salt: salt).text
    }
  }

  /// Takes over the state of the upload, before a request or after one.
  mutating func remember(_ state: ResumableUpload, before next: ResumableUpload.Action? = nil) {
    resource = state.resource
    var mayBeComplete = state.mayBeComplete
    if case .append(let part) = next, part.isLast { mayBeComplete = true }
    self.mayBeComplete = mayBeComplete ? true : nil
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
    guard let (file, _) = OpenFile.locked(url, mode: 0o600) else {
      let code = errno
      throw code == EWOULDBLOCK ? UploadError.alreadyUploading(url) : .stateNotUsable(url, code: code)
    }
    guard let status = file.status, status.st_mode & S_IFMT == S_IFREG else { throw .stateNotUsable(url, code: 0) }
    let record = file.contents(upTo: Self.largestRecord).flatMap {
      try? JSONDecoder().decode(UploadRecord.self, from: $0)
    }
    guard status.st_size == 0 || record != nil else { throw .stateNotUsable(url, code: 0) }
    guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0, status.st_nlink <= 1
    else { throw .stateNotUsable(url, code: EPERM) }
    self.file = file
    self.record = record
    removeUnfinished()
  }

  /// Writes a record, atomically. Without it the upload cannot be resumed later, which is no reason not to upload.
  mutating func save(_ record: UploadRecord) {
    guard record != self.record, let data = try? JSONEncoder().encode(record) else { return }
    // In a folder that others can write to, nobody can have created a file of this name, or a link.
    let new = url.deletingLastPathComponent().appendingPathComponent(newNames + "\(UUID().uuidString).upload")
    guard let next = OpenFile(new.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode: 0o600) else { return }
    // Locked before it gets the name, under which others find it.
    guard next.lock(), next.append(data), next.synchronize(), rename(new.path, url.path) == 0
    else {
      unlink(new.path)
      return
    }
    file = next
    self.record = record
  }

  mutating func remove() {
    record = nil
    if file.isNamed(url) { unlink(url.path) }
  }

  private static let largestRecord: Int64 = 64 * 1024

  /// How the names of the files begin that new records are written to, before they get the name of the old one. The files
  /// belong to the owner of the lock.
  private var newNames: String { ".\(SHA256.hexadecimal(Array(url.lastPathComponent.utf8)))." }

  /// Removes what the last owner of the lock has left, if it was killed while it saved a record.
  private func removeUnfinished() {
    let (folder, start) = (url.deletingLastPathComponent(), newNames)
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    where name.hasPrefix(start) && name.hasSuffix(".upload") { unlink(folder.appendingPathComponent(name).path) }
  }
}
