import Foundation

/// Splits bytes into lines at `\n` or `\r\n`, however they are cut; one line at a time, so that a piece of nothing but
/// line ends does not become a list that is many times its size.
struct SocketLineSplitter {
  /// A line grew past the limit.
  struct TooLong: Error {}

  private let maximumLength: Int
  private var line = Data()
  private var rest = Data()

  init(maximumLength: Int) { self.maximumLength = maximumLength }

  /// Takes the next bytes. Only after ``next()`` has returned `nil`.
  mutating func append(_ bytes: Data) { rest = bytes }

  /// The next complete line, without its end; `nil` when more is needed.
  ///
  /// - Throws: ``TooLong`` behind the lines that are complete.
  mutating func next() throws(TooLong) -> Data? {
    guard let end = rest.firstIndex(of: 0x0A) else {
      try keep(rest)
      rest = Data()
      return nil
    }
    try keep(rest[..<end])
    rest = rest[(end + 1)...]
    if line.last == 0x0D { line.removeLast() }
    defer { line = Data() }
    return line
  }

  /// What has no end yet; `nil` when there is nothing.
  mutating func finish() -> Data? {
    defer { line = Data() }
    return line.isEmpty ? nil : line
  }

  private mutating func keep(_ bytes: Data) throws(TooLong) {
    guard bytes.count <= maximumLength - line.count else { throw TooLong() }
    line.append(bytes)
  }
}
