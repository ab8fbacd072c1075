import Foundation

/// An error of a ``PrismOfflineQueue`` that does not accept a request or cannot be opened.
public enum PrismOfflineQueueError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The maximum number of requests is waiting already.
  case tooManyRequests(limit: Int)
  /// With this request, more bytes would wait than are allowed.
  case tooManyBytes(limit: Int64)
  /// The body is a stream that can be read once, and could not be sent a second time.
  case bodyNotRepeatable
  /// The request has no URL.
  case noURL
  /// The file with the body cannot be read or copied.
  case bodyNotReadable(URL)
  /// The folder does not exist, or cannot be written to. `code` is the system's `errno`.
  case notWritable(URL, code: Int32)
  /// Another queue has the folder open, in this process or another one.
  case alreadyOpen(URL)
  /// The manager has no queue.
  case noQueue

  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .tooManyRequests(let limit): "The queue is full: \(limit) requests wait"
    case .tooManyBytes(let limit): "The queue is full: no more than \(limit) bytes may wait"
    case .bodyNotRepeatable: "The body is a stream that can be read once"
    case .noURL: "The request has no URL"
    case .bodyNotReadable(let url): "The file \(url.path) cannot be read or copied"
    case .notWritable(let url, let code): "The folder \(url.path) cannot be used: \(String(cString: strerror(code)))"
    case .alreadyOpen(let url): "Another queue has the folder \(url.path) open"
    case .noQueue: "The manager has no queue of requests"
    }
  }
}
