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
