import Foundation

/// A file that is being downloaded, next to its destination under a hidden name, and a note of the version that it
/// belongs to.
///
/// It is locked: of two downloads to the same destination, in one process or in two, the second fails.
final class PartialFile: Sendable {
  private let destination: URL
  private let url: URL
  private let noteURL: URL
  private let file: OpenFile

  /// - Parameter isCopy: Whether it is a copy of a file on another file system. Its name differs from that of a download.
  init(for destination: URL, isCopy: Bool = false) throws(DownloadError) {
    guard destination.isFileURL else { throw .notAFileURL(destination) }
    self.destination = destination
    let folder = destination.deletingLastPathComponent()
    url = folder.appendingPathComponent(Self.name(for: destination.lastPathComponent) + (isCopy ? ".copy" : ""))
    noteURL = url.appendingPathExtension("json")
    for _ in 0...Self.mostRemovals {
      guard let (file, isNew) = OpenFile.locked(url, mode: 0o666) else { throw DownloadError(errno, destination) }
      // A file that was just created belongs to this process, even on a file system that reports another owner.
      if isNew || Self.isOwn(file) {
        self.file = file
        return
      }
      // In a folder that others can write to, another user may have created the file. It is never used, only removed
      // if the folder allows that.
      guard unlink(url.path) == 0 else { break }
      unlink(noteURL.path)
    }
    throw .notWritable(destination, code: EPERM)
  }

  /// Returns whether the name still stands for the file, with all the bytes that were written to it: another program may
  /// have replaced or truncated it.
  func holds(_ length: Int64) -> Bool { file.isNamed(url) && file.size ?? -1 >= length }

  /// The rest of an earlier download; `nil` if there is none that can be used.
  var held: (representation: Representation, length: Int64)? {
    // A file that others can write to cannot be trusted.
    guard let status = file.status, status.st_mode & 0o002 == 0, let data = note,
      var representation = try? JSONDecoder().decode(Representation.self, from: data),
      representation.inode == nil || representation.inode == UInt64(status.st_ino)
    else { return nil }
    representation.inode = nil
    return (representation, Int64(status.st_size))
  }

  /// Whether a later download may resume the file: `false` only if its note is certainly missing, or of no use.
  var mayBeResumed: Bool {
    if held != nil { return true }
    // Too many files are open, or the device is locked: that says nothing about the note.
    return openNote() == nil && [EMFILE, ENFILE, ENOMEM, EPERM].contains(errno)
  }

  /// Truncates the file at a position, where the next bytes are written, and writes the note of the version that they
  /// belong to.
  func prepare(at position: Int64, of representation: Representation?) throws(DownloadError) {
    // The old note must not outlive the bytes that it describes.
    if position == 0 { unlink(noteURL.path) }
    guard ftruncate(file.descriptor, off_t(position)) == 0 else { throw DownloadError(errno, destination) }
    guard position == 0, var representation else { return }
    representation.inode = file.status.map { UInt64($0.st_ino) }
    guard let note = try? JSONEncoder().encode(representation) else { return }
    // Another user could compare its digests with those of likely secrets. Without a complete note the file cannot be
    // resumed, which is no reason not to download it.
    _ = OpenFile(noteURL.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)?.append(note)
  }

  func append(_ data: Data) throws(DownloadError) {
    guard file.append(data) else { throw DownloadError(errno, destination) }
  }

  /// Copies another file, in place of the content. Returns the length.
  func copy(_ other: URL) throws(DownloadError) -> Int64 {
    try prepare(at: 0, of: nil)
    let result = Result { [file] in
      let segment = try FileSegment(other)
      return (length: segment.size, code: try SegmentReader([.file(segment)]).copy(to: file))
    }
    guard case .success(let (length, code)) = result else { throw .notWritable(destination, code: EXDEV) }
    if let code { throw DownloadError(code, destination) }
    return length
  }

  /// Moves the file to its destination, if it has this length, as it does unless another program has changed it. Returns
  /// `false` if a file exists there that must not be replaced.
  func finish(length: Int64, replacing: Bool, synchronizing: Bool) throws(DownloadError) -> Bool {
    if synchronizing, !file.synchronize() { throw DownloadError(errno, destination) }
    guard file.isNamed(url), file.size == length else {
      let folder = destination.deletingLastPathComponent()
      throw DownloadError(access(folder.path, F_OK) == 0 ? ESTALE : errno, destination)
    }
    guard try Self.move(url, to: destination, replacing: replacing) else { return false }
    unlink(noteURL.path)
    if synchronizing { OpenFile(destination.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)?.synchronize() }
    return true
  }

  func discard() {
    // What has taken its place, with its note, may belong to another download.
    guard file.isNamed(url) else { return }
    unlink(noteURL.path)
    unlink(url.path)
  }

  /// Moves a file within its file system. Returns `false` if a file exists at the destination that must not be replaced.
  ///
  /// It is then moved with `link`, which fails if the destination exists, whereas `rename` would replace it; checking and
  /// moving are one atomic step.
  static func move(_ url: URL, to destination: URL, replacing: Bool) throws(DownloadError) -> Bool {
    if !replacing {
      if link(url.path, destination.path) == 0 {
        unlink(url.path)
        return true
      }
      guard errno != EEXIST else { return false }
      guard Self.meansNoHardLinks(errno) else { throw DownloadError(errno, destination) }
      guard access(destination.path, F_OK) != 0 else { return false }
    }
    guard rename(url.path, destination.path) == 0 else { throw DownloadError(errno, destination) }
    return true
  }

  /// Returns whether `link` has failed with a code of a file system without hard links. FUSE passes ENOSYS on from one that
  /// does not implement the operation.
  static func meansNoHardLinks(_ code: Int32) -> Bool {
    [EPERM, ENOTSUP, EOPNOTSUPP, EMLINK, ENOSYS].contains(code)
  }

  private var note: Data? {
    openNote().flatMap { Self.isOwn($0) ? $0.contents(upTo: Self.largestNote) : nil }
  }

  private func openNote() -> OpenFile? {
    OpenFile(noteURL.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
  }

  private static let largestNote: Int64 = 64 * 1024
  /// The number of times that another user's file is removed if it reappears at once.
  private static let mostRemovals = 8

  /// Returns whether a file is a regular file of this user without further hard links, through which another user may
  /// have access.
  private static func isOwn(_ file: OpenFile) -> Bool {
    guard let status = file.status else { return false }
    return status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink <= 1
  }

  /// Returns the hidden name of the partial file, shortened where needed: a name has at most 255 bytes.
  private static func name(for name: String) -> String {
    let short = name.utf8.count > 200 ? SHA256.hexadecimal(Array(name.utf8)) : name
    return ".\(short).download"
  }
}

/// The identity of one version of a resource (RFC 9110 §8.8), as far as a later request can name it.
struct Representation: Codable, Equatable, Sendable {
  // The names in the file are those of earlier versions, which can still be resumed.
  private enum CodingKeys: String, CodingKey {
    case requestedURL = "resource"
    case signedURL
    case respondingURL = "source"
    case requester = "asker"
    case trust
    case entityTag
    case lastModified
    case total
    case inode
  }

  /// A digest of the URL, whose query may contain secrets that must not be written to a file.
  var requestedURL: String
  /// A digest of the requested URL without the parameters of a signature; `nil` if it is unknown.
  var signedURL: String?
  /// A digest of the URL that responded, to which redirects may have led; `nil` if it is unknown.
  var respondingURL: String?
  /// A digest of the requester and of the requested variant: ``RequestIdentity``.
  var requester: String?
  /// A digest of the authorities and keys that were trusted: ``RequestIdentity/trust``.
  var trust: String?
  var entityTag: String?
  /// A strong modification date, as the server wrote it.
  var lastModified: String?
  var total: Int64?
  /// The partial file that a note belongs to; `nil` in notes of earlier versions. A file that has taken its place is not
  /// resumed.
  var inode: UInt64?

  /// The value of `If-Range`, which only accepts strong validators (RFC 9110 §13.1.5).
  var condition: String? { entityTag ?? lastModified }

  /// Creates the identity of a response's representation; `nil` if no later response can be appended to it.
  init?(
    _ head: DownloadHead, of requestedURL: String, _ signedURL: String? = nil, for requester: String? = nil,
    trust: String? = nil
  ) {
    guard head.status == 200, !head.isEncoded, head.acceptsRanges else { return nil }
    self.requestedURL = requestedURL
    self.signedURL = signedURL
    respondingURL = head.respondingURL
    self.requester = requester
    self.trust = trust
    entityTag = head.strongEntityTag
    lastModified = head.strongLastModified
    total = head.contentLength
    if condition == nil { return nil }
  }

  /// Returns whether a URL that differs by its signature at most leads to this version, if the server agrees. What two
  /// users get may have the same date.
  func isSigned(like url: String?) -> Bool { url != nil && url == signedURL && entityTag != nil }

  /// Returns whether a response is about this version. RFC 9110 §8.8.1: a validator is unique among the versions of one
  /// resource; those that a redirect leads to, at different times, may have the same.
  func includes(_ head: DownloadHead) -> Bool {
    guard head.respondingURL == respondingURL else { return false }
    // RFC 9110 §15.3.7: a partial response has the same validators as the whole response.
    if let entityTag { return head.strongEntityTag == entityTag }
    // A server need not repeat the date that `If-Range` has just matched.
    return head.lastModified == nil || head.lastModified == lastModified
  }
}
