import Foundation

/// Why a HAR file cannot be replayed.
public enum HARError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The file cannot be read. The text is the system's.
  case notReadable(URL, reason: String)
  /// It has more bytes than were allowed.
  case tooLarge(limit: Int)
  /// It is not JSON, or not the JSON of a HAR file. The text says where.
  case notHAR(reason: String)
  /// An entry is none, counted from 0. The text says why.
  case invalidEntry(Int, reason: String)

  /// What is wrong, in one line.
  public var errorDescription: String? {
    switch self {
    case .notReadable(let url, let reason): "\(url.path) cannot be read: \(reason)"
    case .tooLarge(let limit): "The HAR file has more than \(limit) bytes"
    case .notHAR(let reason): "This is no HAR file: \(reason)"
    case .invalidEntry(let index, let reason): "Entry \(index) of the HAR file is invalid: \(reason)"
    }
  }
}
