import Foundation

/// A file as a part of a body: its size is announced before its first byte is sent.
struct FileSegment: Equatable, Sendable {
  let url: URL
  let size: Int64
  private let opened: OpenFile?
  /// Which file it was, and when it was last written; `nil` for one that no other program can write.
  private let version: FileVersion?

  /// Looks at a file without opening it.
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

  /// A file that has no name any more.
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
    // Non-blocking: what was a file a moment ago may be a pipe now, and opening one waits for its writer.
    guard let file = OpenFile(url.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) else { throw Self.error(errno, url) }
    try check(file)
    return file
  }

  /// Throws if the file is not the one that was announced any more: another size, another file of the same name, or the
  /// same one written to.
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
