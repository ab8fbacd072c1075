import Foundation

/// The body of a stored response: in memory, or in a file, which is read when it is asked for.
enum CachedBody: Sendable {
  case data(Data)
  case file(DiskBody)

  var length: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let file): file.length
    }
  }

  /// The bytes of a range, to be pulled.
  ///
  /// - Parameter remainder: Gets the rest from elsewhere, from an offset on, when the file turns out to be damaged amid
  ///   the range.
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
