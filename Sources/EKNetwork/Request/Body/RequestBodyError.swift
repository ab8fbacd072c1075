import Foundation

/// A request's body cannot be sent as it was announced. It is never retried.
public enum RequestBodyError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// There is no file of that name, or the URL is not a file URL.
  case fileNotFound(URL)
  /// It is a directory, a pipe, a device or a socket: nothing whose length is known.
  case notARegularFile(URL)
  /// The file cannot be opened or read. `code` is the system's `errno`.
  case fileNotReadable(URL, code: Int32)
  /// The file has another size than when the request began, or was replaced or written to meanwhile. Nothing was sent
  /// that the server could take for the whole.
  case fileChanged(URL, announced: Int64, actual: Int64)
  /// A stream or sequence gave another number of bytes than was declared. Where it gave too many, `actual` is how many
  /// there were when that was noticed.
  case lengthMismatch(declared: Int64, actual: Int64)
  /// A one-shot sequence was used up by a request before.
  case alreadySent

  /// What is wrong, with the name of the file.
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
