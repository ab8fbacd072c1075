import Foundation

/// Options that control how a download uses the file system.
public struct DownloadOptions: Equatable, Sendable {
  /// The behaviour if a file already exists at the destination.
  public enum ExistingFile: String, CaseIterable, Sendable {
    /// Replace it atomically with the new file, once that is complete.
    case replace
    /// Keep it, and download nothing.
    case keep
    /// Throw ``DownloadError/fileExists(_:)``; before anything is sent if the file exists by then.
    case fail
  }

  /// The behaviour if a file already exists at the destination. Defaults to `.replace`.
  public var existingFile: ExistingFile
  /// Whether a download that was interrupted, in this process or an earlier one, is resumed. Defaults to `true`; with `false`
  /// nothing is kept of one that fails.
  ///
  /// A modification date only identifies what the same user received: behind attempt middleware, a session's delegate or a
  /// custom session, whose credentials the library does not know, an earlier process's download is resumed only by an
  /// entity tag.
  public var resumes: Bool
  /// Whether the file is flushed to the disk before the download returns, so that it survives a power failure. Defaults
  /// to `false`.
  public var synchronizes: Bool

  /// Creates options; parameters that are left out have their defaults.
  public init(existingFile: ExistingFile = .replace, resumes: Bool = true, synchronizes: Bool = false) {
    self.existingFile = existingFile
    self.resumes = resumes
    self.synchronizes = synchronizes
  }
}

/// A file that was downloaded.
public struct DownloadedFile: ResponseHeaderFields, Equatable, Sendable {
  /// The location of the file.
  public let url: URL
  /// The size of the file in bytes.
  public let size: Int64
  /// The status of the response that completed the file, 416 if nothing was missing; `nil` if an existing file was
  /// kept.
  public let statusCode: Int?
  /// The header fields of that response.
  public let headers: [String: String]
  private(set) var received = ReceivedFields()
  /// The number of bytes that an earlier, interrupted download had left.
  public let resumedBytes: Int64

  /// Returns the value of a field; the case of its name does not matter.
  public func value(forHTTPHeaderField name: String) -> String? { headers.field(name) }

  init(url: URL, size: Int64, response: HTTPURLResponse?, resumedBytes: Int64) {
    self.init(
      url: url, size: size, statusCode: response?.statusCode, headers: response?.headerDictionary ?? [:],
      resumedBytes: resumedBytes)
    received = ReceivedFields(response: response)
  }

  /// The header fields in order, repeated ones separate if they were received so.
  public var headerFields: HeaderFieldList { received.list(or: headers) }

  /// Creates a result as the library would return it, for tests.
  public init(
    url: URL, size: Int64, statusCode: Int? = 200, headers: [String: String] = [:], resumedBytes: Int64 = 0
  ) {
    self.url = url
    self.size = size
    self.statusCode = statusCode
    self.headers = headers
    self.resumedBytes = resumedBytes
  }
}

extension DownloadedFile: Redacted {
  var redacted: String { "\(url.path), \(size) bytes" + (statusCode.map { ", status \($0)" } ?? "") }
}

/// The error of a download that cannot be stored at its destination, or does not have the announced length. It is never
/// retried.
public enum DownloadError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The destination is not a file URL.
  case notAFileURL(URL)
  /// A file exists at the destination, and the options require that none does.
  case fileExists(URL)
  /// The folder of the destination does not exist, or no longer does.
  case folderNotFound(URL)
  /// Another download to the same destination is in progress.
  case alreadyDownloading(URL)
  /// The disk, or the user's quota, is full. What was downloaded is kept for a later attempt if it can be resumed.
  case diskFull(URL)
  /// The file cannot be written or moved into place. `code` is the system's `errno`.
  case notWritable(URL, code: Int32)
  /// The response ended before the announced length, and its version cannot be resumed, or it exceeded that length.
  case incomplete(received: Int64, announced: Int64)

  /// A description of the error, with the name of the file.
  public var errorDescription: String? {
    switch self {
    case .notAFileURL(let url): "\(url.redactedForLog) is not a file URL"
    case .fileExists(let url): "There is a file \(url.path) already"
    case .folderNotFound(let url): "There is no folder \(url.path)"
    case .alreadyDownloading(let url): "\(url.path) is being downloaded already"
    case .diskFull(let url): "There is no space left for \(url.path)"
    case .notWritable(let url, let code): "\(url.path) cannot be written: \(String(cString: strerror(code)))"
    case .incomplete(let received, let announced): "Received \(received) bytes, but \(announced) were announced"
    }
  }

  init(_ code: Int32, _ destination: URL) {
    switch code {
    case ENOSPC, EDQUOT: self = .diskFull(destination)
    case ENOENT, ENOTDIR: self = .folderNotFound(destination.deletingLastPathComponent())
    case EEXIST: self = .fileExists(destination)
    case EWOULDBLOCK: self = .alreadyDownloading(destination)
    default: self = .notWritable(destination, code: code)
    }
  }
}

extension DownloadError: Redacted {}
