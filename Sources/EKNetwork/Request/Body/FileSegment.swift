import Foundation

/// A file as a segment of a body, whose size is announced before its first byte is sent.
struct FileSegment: Equatable, Sendable {
  let url: URL
  let size: Int64
  private let opened: OpenFile?
  /// The identity and modification time of the file; `nil` for a file that no other program can write to.
  private let version: FileVersion?

  /// Checks a file without opening it.
  init(_ url: URL) throws(RequestBodyError) {
    guard url.isFileURL else { throw .fileNotFound(url) }
    var status = stat()
    guard stat(url.path, &status) == 0 else { throw Self.error(errno, url) }
    try self.init(url, status)
    guard access(url.path, R_OK) == 0 else { throw Self.error(errno, url) }
  }

  private init(_ url: URL, _ status: stat) throws(RequestBodyError) {
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notARegularFile(url) }
    self.url = url
    size = Int64(status.st_size)
    version = FileVersion(status)
    opened = nil
  }

  /// Creates a segment of an unlinked file.
  init(unlinked file: OpenFile, name: URL, size: Int64) {
    url = name
    self.size = size
    version = nil
    opened = file
  }

  static func == (left: FileSegment, right: FileSegment) -> Bool {
    left.url == right.url && left.size == right.size && left.opened === right.opened
  }

  /// Opens the file for reading from its start.
  func open() throws(RequestBodyError) -> OpenFile {
    if let opened { return opened }
    // Non-blocking: the file may have become a pipe, and opening one waits for its writer.
    guard let file = OpenFile(url.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) else { throw Self.error(errno, url) }
    try check(file)
    return file
  }

  /// Throws if the file is no longer the one that was announced: if it has another size, was replaced, or was written
  /// to.
  func check(_ file: OpenFile) throws(RequestBodyError) {
    var status = stat()
    guard fstat(file.descriptor, &status) == 0 else { throw Self.error(errno, url) }
    let now = try FileSegment(url, status)
    guard now.size == size, version == nil || now.version == version else {
      throw .fileChanged(url, announced: size, actual: now.size)
    }
  }

  private static func error(_ code: Int32, _ url: URL) -> RequestBodyError {
    code == ENOENT || code == ENOTDIR ? .fileNotFound(url) : .fileNotReadable(url, code: code)
  }
}
