import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response head as its bytes came: the status line, the field lines and the blank line.
///
/// Making an `HTTPURLResponse` costs more than everything else that a small response needs, so the bytes stay as they
/// are until somebody asks.
struct RawHead: Sendable {
  /// What was received, line ends included.
  let bytes: [UInt8]
  /// The status code of the status line.
  let statusCode: Int
  /// The URL that was asked for.
  let url: URL

  /// `nil` when the first line is not a status line (RFC 9112 §4). A missing reason phrase is fine.
  init?(bytes: [UInt8], url: URL) {
    guard let space = bytes.firstIndex(of: UInt8(ascii: " ")), bytes.count >= space + 4 else { return nil }
    var code = 0
    for byte in bytes[(space + 1)..<(space + 4)] {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      code = code * 10 + Int(byte &- UInt8(ascii: "0"))
    }
    guard code >= 100 else { return nil }
    self.bytes = bytes
    self.url = url
    statusCode = code
  }

  /// The protocol version of the status line, such as `HTTP/1.1`.
  var version: String {
    String(decoding: bytes.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
  }

  /// The field lines in the order in which they came, folded lines unfolded (RFC 9112 §5.2).
  var fields: [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    forEachLine { line in
      if let first = line.first, Self.isBlank(first) {
        guard let last = fields.indices.last else { return }
        fields[last].value += " " + Self.text(Self.trimmed(line))
      } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
        fields.append((Self.text(Self.trimmed(line[..<colon])), Self.text(Self.trimmed(line[(colon + 1)...]))))
      }
    }
    return fields
  }

  /// Every value of a field, in order, whatever the case of its name. `name` is lower-case ASCII.
  func values(_ name: StaticString) -> [String] {
    var values: [String] = []
    var isFolding = false
    forEachLine { line in
      if let first = line.first, Self.isBlank(first) {
        guard isFolding, let last = values.indices.last else { return }
        values[last] += " " + Self.text(Self.trimmed(line))
        return
      }
      isFolding = Self.line(line, isNamed: name)
      if isFolding, let colon = line.firstIndex(of: UInt8(ascii: ":")) {
        values.append(Self.text(Self.trimmed(line[(colon + 1)...])))
      }
    }
    return values
  }

  /// The fields as Foundation has them: one value per name, repeated ones joined with `", "` (RFC 9110 §5.3).
  var joinedFields: [String: String] {
    var joined: [String: String] = [:]
    var spelling: [String: String] = [:]
    for (name, value) in fields {
      let key = spelling[name.lowercased(), default: name]
      if let earlier = joined[key] {
        joined[key] = earlier + ", " + value
      } else {
        spelling[name.lowercased()] = name
        joined[name] = value
      }
    }
    return joined
  }

  /// The head as Foundation's type.
  var urlResponse: URLResponse {
    HTTPURLResponse(url: url, statusCode: statusCode, httpVersion: version, headerFields: joinedFields)
      ?? URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
  }

  // MARK: - Lines

  private func forEachLine(_ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { all in
      var start = all.startIndex
      var isStatusLine = true
      while start < all.endIndex {
        let end = all[start...].firstIndex(of: UInt8(ascii: "\n")) ?? all.endIndex
        var last = end
        if last > start, all[last - 1] == UInt8(ascii: "\r") { last -= 1 }
        if !isStatusLine, last > start { body(UnsafeRawBufferPointer(rebasing: all[start..<last])) }
        isStatusLine = false
        start = end + 1
      }
    }
  }

  private static func line(_ line: UnsafeRawBufferPointer, isNamed name: StaticString) -> Bool {
    let count = name.utf8CodeUnitCount
    guard line.count > count, line[count] == UInt8(ascii: ":") else { return false }
    for index in 0..<count where line[index] | 0x20 != name.utf8Start[index] | 0x20 { return false }
    return true
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private static func trimmed<Bytes: BidirectionalCollection>(_ bytes: Bytes) -> Bytes.SubSequence
  where Bytes.Element == UInt8 {
    var slice = bytes[...]
    while let first = slice.first, isBlank(first) { slice = slice.dropFirst() }
    while let last = slice.last, isBlank(last) { slice = slice.dropLast() }
    return slice
  }

  /// UTF-8 where it is valid, else ISO 8859-1 (RFC 9110 §5.5): no byte of a value is lost.
  private static func text<Bytes: Collection>(_ bytes: Bytes) -> String where Bytes.Element == UInt8 {
    String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
  }
}
