import Foundation

/// An error of a request body that cannot be sent as announced. It is never retried.
public enum RequestBodyError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// There is no file of that name, or the URL is not a file URL.
  case fileNotFound(URL)
  /// The URL refers to a directory, a pipe, a device or a socket, which has no known length.
  case notARegularFile(URL)
  /// The file cannot be opened or read. `code` is the system's `errno`.
  case fileNotReadable(URL, code: Int32)
  /// The size of the file changed since the request began, or it was replaced or written to. Nothing was sent that the
  /// server could mistake for the complete body.
  case fileChanged(URL, announced: Int64, actual: Int64)
  /// A stream or sequence produced a different number of bytes than declared. If it produced too many, `actual` is the
  /// count at which that was detected.
  case lengthMismatch(declared: Int64, actual: Int64)
  /// A one-shot sequence was already consumed by an earlier request.
  case alreadySent

  /// A description of the problem, with the name of the file.
  public var errorDescription: String? {
    switch self {
    case .fileNotFound(let url): "There is no file \(Self.name(url))"
    case .notARegularFile(let url): "\(Self.name(url)) is not a regular file"
    case .fileNotReadable(let url, let code):
      "The file \(Self.name(url)) cannot be read: \(String(cString: strerror(code)))"
    case .fileChanged(let url, let announced, let actual) where announced == actual:
      "The file \(Self.name(url)) was written to while it was sent"
    case .fileChanged(let url, let announced, let actual):
      "The file \(Self.name(url)) changed while it was sent: \(announced) bytes were announced, it has \(actual)"
    case .lengthMismatch(let declared, let actual):
      "The body has \(actual) bytes, of \(declared) that were declared"
    case .alreadySent: "The body's sequence was sent before and cannot be sent again"
    }
  }

  private static func name(_ url: URL) -> String { url.isFileURL ? url.path : url.absoluteString }
}

extension RequestBodyError: ClassifiedError {
  /// A later request may be able to read the file: too many files were open, or it was being written. The same request
  /// is not sent again.
  var failureKind: FailureKind {
    switch self {
    case .fileChanged: .unclear
    case .fileNotReadable(_, let code):
      [EACCES, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG].contains(code) ? .permanent : .unclear
    case .fileNotFound, .notARegularFile, .lengthMismatch, .alreadySent: .permanent
    }
  }
}
