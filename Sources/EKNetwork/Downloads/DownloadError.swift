import Foundation

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
  /// The response ended before the announced length, or exceeded it.
  case incomplete(received: Int64, announced: Int64)

  /// A description of the error, with the name of the file.
  public var errorDescription: String? {
    switch self {
    case .notAFileURL(let url): "\(url.absoluteString) is not a file URL"
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
