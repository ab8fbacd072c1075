import Foundation

/// The body of a stored response: in memory, or in a file that is read on demand.
enum CachedBody: Sendable {
  case data(Data)
  case file(DiskBody)

  var length: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let file): file.length
    }
  }

  /// Returns a body that reads a range of bytes.
  ///
  /// - Parameter remainder: Fetches the rest from elsewhere, from an offset on, if the file turns out to be damaged in
  ///   the middle of the range.
  func reader(_ range: Range<Int64>, remainder: DiskBodyReader.Remainder?) -> any TransportBody {
    guard !range.isEmpty else { return BufferedBody(Data()) }
    switch self {
    case .file(let file): return DiskBodyReader(file, range: range, remainder: remainder)
    case .data(let data):
      guard range != 0..<length else { return BufferedBody(data) }
      let start = data.startIndex
      return BufferedBody(data.subdata(in: (start + Int(range.lowerBound))..<(start + Int(range.upperBound))))
    }
  }
}
