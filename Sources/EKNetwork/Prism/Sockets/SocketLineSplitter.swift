import Foundation

/// Splits bytes into lines at `\n` or `\r\n`, however they are cut.
struct SocketLineSplitter {
  /// A line grew past the limit.
  struct TooLong: Error {}

  private let maximumLength: Int
  private var line = Data()

  init(maximumLength: Int) { self.maximumLength = maximumLength }

  /// Adds bytes; returns the lines that they complete, without their ends.
  mutating func add(_ bytes: Data) throws(TooLong) -> [Data] {
    var lines: [Data] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: 0x0A) {
      try append(rest[..<end])
      if line.last == 0x0D { line.removeLast() }
      lines.append(line)
      line = Data()
      rest = rest[(end + 1)...]
    }
    try append(rest)
    return lines
  }

  /// What has no end yet; `nil` when there is nothing.
  mutating func finish() -> Data? {
    defer { line = Data() }
    return line.isEmpty ? nil : line
  }

  private mutating func append(_ bytes: Data) throws(TooLong) {
    guard bytes.count <= maximumLength - line.count else { throw TooLong() }
    line.append(bytes)
  }
}
