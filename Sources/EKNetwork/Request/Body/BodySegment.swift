import Foundation

/// A segment of a body, in memory or on disk.
enum BodySegment: Equatable, Sendable {
  case data(Data)
  case file(FileSegment)

  var length: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let file): file.size
    }
  }
}

/// A file, or a part of one, as a segment of a body, whose size is announced before its first byte is sent.
struct FileSegment: Equatable, Sendable {
  let url: URL
  private(set) var size: Int64
  private(set) var start: Int64 = 0
  private let fileSize: Int64
  private let opened: OpenFile?
  /// The identity and modification time of the file; `nil` for a file that no other program can write to, and to which this
  /// one at most appends.
  private let version: FileStamp?

  /// Checks a file; one that has bytes is not opened.
  init(_ url: URL) throws(RequestBodyError) {
    guard url.isFileURL else { throw .fileNotFound(url) }
    var status = stat()
    guard stat(url.path, &status) == 0 else { throw Self.error(errno, url) }
    try self.init(url, status)
    guard access(url.path, R_OK) == 0 else { throw Self.error(errno, url) }
    guard size == 0 else { return }
    // A file of /proc has content, but no size: it would be sent as if it were empty.
    let file = try open()
    var byte: UInt8 = 0
    let count = pread(file.descriptor, &byte, 1, 0)
    guard count >= 0 else { throw .fileNotReadable(url, code: errno) }
    guard count == 0 else {
      try check(file)
      throw .notARegularFile(url)
    }
  }

  private init(_ url: URL, _ status: stat) throws(RequestBodyError) {
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notARegularFile(url) }
    self.url = url
    size = Int64(status.st_size)
    fileSize = size
    var version = FileStamp(status)
    // Other permissions, or another name, such as none for an open file that was removed, do not change its content.
    version.changed = FileStamp.Time()
    self.version = version
    opened = nil
  }

  init(unlinked file: OpenFile, name: URL, size: Int64) {
    url = name
    self.size = size
    fileSize = size
    version = nil
    opened = file
  }

  static func == (left: FileSegment, right: FileSegment) -> Bool {
    left.url == right.url && left.size == right.size && left.start == right.start && left.opened === right.opened
  }

  var isWhole: Bool { size == fileSize }

  /// Returns a part of this segment, of the same version of the file. What is outside the segment is left out.
  func part(from offset: Int64, length: Int64) -> FileSegment {
    var part = self
    let offset = min(max(offset, 0), size)
    part.start = start + offset
    part.size = min(max(length, 0), size - offset)
    return part
  }

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
    guard let status = file.status else { throw Self.error(errno, url) }
    let now = try FileSegment(url, status)
    guard version == nil || now.version == version else {
      throw .fileChanged(url, announced: fileSize, actual: now.fileSize)
    }
  }

  private static func error(_ code: Int32, _ url: URL) -> RequestBodyError {
    code == ENOENT || code == ENOTDIR ? .fileNotFound(url) : .fileNotReadable(url, code: code)
  }
}
