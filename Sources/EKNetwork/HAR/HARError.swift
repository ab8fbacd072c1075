import Foundation

/// An error for a HAR file that cannot be replayed.
public enum HARError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The file cannot be read. The reason is the system's.
  case notReadable(URL, reason: String)
  /// The file has more bytes than are allowed.
  case tooLarge(limit: Int)
  /// The file is not JSON, or not the JSON of a HAR file. The reason contains the location.
  case notHAR(reason: String)
  /// The entry with the index, counted from 0, is invalid for the reason.
  case invalidEntry(Int, reason: String)

  /// A description of the error, in one line.
  public var errorDescription: String? {
    switch self {
    case .notReadable(let url, let reason): "\(url.path) cannot be read: \(reason)"
    case .tooLarge(let limit): "The HAR file has more than \(limit) bytes"
    case .notHAR(let reason): "Not a HAR file: \(reason)"
    case .invalidEntry(let index, let reason): "Entry \(index) of the HAR file is invalid: \(reason)"
    }
  }
}
