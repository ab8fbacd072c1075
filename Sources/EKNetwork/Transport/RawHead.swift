import Foundation

/// A response head as it was received: the status line, the field lines and the blank line.
///
/// Creating an `HTTPURLResponse` costs more than all the other work for a small response, so the bytes are kept as they
/// are until they are needed. A class, because a response is passed on through many functions, each of which would copy
/// the parts.
final class RawHead: Sendable {
  /// The position of one field line. The offsets fit: the size of a head is limited to far less than 4 GiB.
  private struct Line {
    var nameStart: UInt32
    /// 0 for a line that continues the value before it (RFC 9112 §5.2).
    var nameCount: UInt32
    var valueStart: UInt32
    var valueEnd: UInt32

    init(nameStart: Int = 0, nameCount: Int = 0, value: Range<Int>) {
      self.nameStart = UInt32(truncatingIfNeeded: nameStart)
      self.nameCount = UInt32(truncatingIfNeeded: nameCount)
      valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
      valueEnd = UInt32(truncatingIfNeeded: value.upperBound)
    }
  }

  /// The received bytes, including line ends.
  let bytes: [UInt8]
  let statusCode: Int
  let url: URL
  private let lines: [Line]
  /// A bit for each length of a name, up to 63: most fields that are asked for are not there.
  private let nameLengths: UInt64

  /// Returns `nil` if the first line is not a status line (RFC 9112 §4). The reason phrase may be missing.
  init?(bytes: [UInt8], url: URL) {
    guard let space = bytes.firstIndex(of: UInt8(ascii: " ")), bytes.count >= space + 4,
      let code = Self.number(bytes[(space + 1)..<(space + 4)]), code >= 100
    else { return nil }
    self.bytes = bytes
    self.url = url
    statusCode = Int(code)
    lines = bytes.withUnsafeBytes(Self.lines)
    nameLengths = lines.reduce(0) { $0 | 1 << UInt64(min($1.nameCount, 63)) }
  }

  /// Returns the head with another field at its end. Its own bytes stay as they were received.
  func adding(_ name: String, _ value: String) -> RawHead? {
    let end = bytes.lastIndex { $0 != 0x0d && $0 != 0x0a } ?? bytes.startIndex
    return RawHead(bytes: bytes[...end] + Array("\r\n\(name): \(value)\r\n\r\n".utf8), url: url)
  }

  /// Returns the head with a status, and with `fields` in place of those whose names, in lower case, are not kept. The others
  /// stay as they were received, and so does the status line if the status is the same.
  func changed(status: Int, keeping isKept: (String) -> Bool, adding fields: HeaderFieldList) -> RawHead? {
    var changed: [UInt8] = []
    changed.reserveCapacity(bytes.count)
    if status == statusCode {
      changed += bytes.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    } else {
      changed += "\(version ?? "") \(status) ".utf8
    }
    var isKeeping = false
    for line in lines {
      if line.nameCount > 0 {
        let end = line.nameStart + line.nameCount
        isKeeping = isKept(bytes.withUnsafeBytes { Self.text($0, line.nameStart, end) }.lowercased())
        if isKeeping { changed += Array("\r\n".utf8) + bytes[Int(line.nameStart)..<Int(end)] + Array(": ".utf8) }
      } else if isKeeping {
        changed += "\r\n ".utf8
      }
      if isKeeping { changed += bytes[Int(line.valueStart)..<Int(line.valueEnd)] }
    }
    for field in fields { changed += "\r\n\(field.name): \(field.value)".utf8 }
    return RawHead(bytes: changed + "\r\n\r\n".utf8, url: url)
  }

  /// The protocol version of the status line, such as `HTTP/1.1`; `nil` if it is missing, in a head that was not received.
  var version: String? {
    let version = bytes.prefix { $0 != UInt8(ascii: " ") }
    return version.isEmpty ? nil : String(decoding: version, as: UTF8.self)
  }

  /// The reason phrase of the status line; empty if it is missing.
  var reasonPhrase: String {
    let line = bytes.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    return parts.count > 2 ? String(decoding: parts[2], as: UTF8.self) : ""
  }

  /// The fields in the order in which they were received, with folded lines unfolded.
  var fields: [(name: String, value: String)] {
    bytes.withUnsafeBytes { bytes in
      var fields: [(name: String, value: String)] = []
      fields.reserveCapacity(lines.count)
      for line in lines {
        let value = Self.value(line, of: bytes)
        if line.nameCount > 0 {
          fields.append((Self.text(bytes, line.nameStart, line.nameStart + line.nameCount), value))
        } else if let last = fields.indices.last {
          // RFC 9112 §5.2: a fold is a blank, and blanks at the beginning do not belong to the value.
          fields[last].value += fields[last].value.isEmpty ? value : " " + value
        }
      }
      return fields
    }
  }

  /// Returns all values of a field, in order, ignoring the case of its name. `name` is lower-case ASCII.
  func values(_ name: StaticString) -> [String] { values(name, blank: " ", Self.value) }

  /// Returns the bytes of all values of a field, in order, as ``values(_:)`` does.
  func bytes(_ name: StaticString) -> [[UInt8]] {
    values(name, blank: [0x20]) { line, bytes in
      bytes[Int(line.valueStart)..<Int(line.valueEnd)].map { $0 == 0x0d || $0 == 0 ? 0x20 : $0 }
    }
  }

  private func values<Value: RangeReplaceableCollection>(
    _ name: StaticString, blank: Value, _ value: (Line, UnsafeRawBufferPointer) -> Value
  ) -> [Value] {
    guard mayHave(name) else { return [] }
    return bytes.withUnsafeBytes { bytes in
      var values: [Value] = []
      var isFolding = false
      for line in lines {
        if line.nameCount > 0 {
          isFolding = Self.line(line, of: bytes, isNamed: name)
          if isFolding { values.append(value(line, bytes)) }
        } else if isFolding, let last = values.indices.last {
          if !values[last].isEmpty { values[last] += blank }
          values[last] += value(line, bytes)
        }
      }
      return values
    }
  }

  /// Returns the value of a field that occurs once, unfolded, and is a number, as lengths usually are; otherwise `nil`,
  /// and ``values(_:)`` returns what there is.
  func number(_ name: StaticString) -> Int64? {
    bytes.withUnsafeBytes { bytes in
      only(name, of: bytes).flatMap { Self.number(bytes[Int($0.valueStart)..<Int($0.valueEnd)]) }
    }
  }

  /// Returns whether a field occurs once, unfolded, with this value in any case. Both are lower-case ASCII.
  func has(_ name: StaticString, only value: StaticString) -> Bool {
    bytes.withUnsafeBytes { bytes in
      guard let line = only(name, of: bytes), line.valueEnd - line.valueStart == value.utf8CodeUnitCount else {
        return false
      }
      return HeaderSyntax.isSame(bytes[Int(line.valueStart)..<Int(line.valueEnd)], value)
    }
  }

  /// The number of seconds after which the server closes a connection that is idle (RFC 2068 §19.7.1.1), if it says so.
  var keepAliveTimeout: Int64? {
    bytes.withUnsafeBytes { bytes in
      guard let line = only("keep-alive", of: bytes) else { return nil }
      for member in bytes[Int(line.valueStart)..<Int(line.valueEnd)].split(separator: UInt8(ascii: ",")) {
        let text = bytes[bytes.trimmed(member.startIndex..<member.endIndex)]
        if HeaderSyntax.isSame(text, "timeout="), let seconds = Self.number(text.dropFirst(8)) { return seconds }
      }
      return nil
    }
  }

  private func only(_ name: StaticString, of bytes: UnsafeRawBufferPointer) -> Line? {
    guard mayHave(name) else { return nil }
    var found: Line?
    for (index, line) in lines.enumerated() where Self.line(line, of: bytes, isNamed: name) {
      let isFolded = index + 1 < lines.count && lines[index + 1].nameCount == 0
      guard found == nil, !isFolded else { return nil }
      found = line
    }
    return found
  }

  func has(_ name: StaticString) -> Bool {
    mayHave(name) && bytes.withUnsafeBytes { bytes in lines.contains { Self.line($0, of: bytes, isNamed: name) } }
  }

  private func mayHave(_ name: StaticString) -> Bool {
    nameLengths & 1 << UInt64(min(name.utf8CodeUnitCount, 63)) != 0
  }

  /// The fields as Foundation represents them: one value per name, repeated ones joined with `", "` (RFC 9110 §5.3).
  var joinedFields: [String: String] {
    let fields = fields
    var joined = [String: String](minimumCapacity: fields.count)
    var spelling: [String: String]?
    for (index, (name, value)) in fields.enumerated() {
      // Names that differ only in case are rare and have the same length: only then are the spellings compared.
      if spelling == nil, !fields[..<index].contains(where: { $0.name.utf8.count == name.utf8.count }) {
        joined[name] = value
        continue
      }
      if spelling == nil {
        spelling = [:]
        for (name, _) in fields[..<index] { spelling?[name.lowercased()] = name }
      }
      let key = spelling?[name.lowercased()] ?? name
      if joined[key] != nil {
        // Appended in place: otherwise thousands of fields of one name would be copied each time.
        joined[key]?.append(", ")
        joined[key]?.append(value)
      } else {
        spelling?[name.lowercased()] = name
        joined[name] = value
      }
    }
    return joined
  }

  var urlResponse: URLResponse {
    #if canImport(FoundationNetworking)
      let response = ReceivedResponse(self)
    #else
      let response = HTTPURLResponse(url: url, statusCode: statusCode, httpVersion: version, headerFields: joinedFields)
    #endif
    return response ?? URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
  }

  // MARK: - Lines

  private static func lines(_ bytes: UnsafeRawBufferPointer) -> [Line] {
    var lines: [Line] = []
    lines.reserveCapacity(16)
    // Whether the line before is kept, and may be continued (RFC 9112 §5.2).
    var isContinuable = false
    var start = bytes.endOfLine(from: 0) ?? bytes.count
    while start < bytes.count {
      let next = bytes.endOfLine(from: start)
      defer { start = next ?? bytes.count }
      let text = bytes.trimmed(start..<(next.map { $0 - 1 } ?? bytes.count))
      guard !text.isEmpty else { continue }
      if bytes[start] == UInt8(ascii: " ") || bytes[start] == UInt8(ascii: "\t") {
        if isContinuable { lines.append(Line(value: text)) }
      } else if let colon = bytes[text].firstIndex(of: UInt8(ascii: ":")) {
        let name = bytes.trimmed(start..<colon)
        isContinuable = !name.isEmpty
        // A line without a name (": b") is not a field.
        guard isContinuable else { continue }
        lines.append(
          Line(
            nameStart: name.lowerBound, nameCount: name.count, value: bytes.trimmed((colon + 1)..<text.upperBound)))
      } else {
        isContinuable = false
      }
    }
    return lines
  }

  private static func line(_ line: Line, of bytes: UnsafeRawBufferPointer, isNamed name: StaticString) -> Bool {
    guard line.nameCount == name.utf8CodeUnitCount else { return false }
    let start = Int(line.nameStart)
    for index in 0..<name.utf8CodeUnitCount where bytes[start + index] | 0x20 != name.utf8Start[index] | 0x20 {
      return false
    }
    return true
  }

  private static func number<Digits: Collection>(_ digits: Digits) -> Int64? where Digits.Element == UInt8 {
    guard !digits.isEmpty else { return nil }
    var number: Int64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tens.addingReportingOverflow(Int64(digit &- UInt8(ascii: "0")))
      guard !overflow, !carry else { return nil }
      number = sum
    }
    return number
  }

  /// Returns the value of a line as text. In a URL, bytes that are not UTF-8 are encoded: as the characters that they
  /// stand for they would be other bytes where they are requested (WHATWG URL, "UTF-8 percent-encode").
  private static func value(_ line: Line, of bytes: UnsafeRawBufferPointer) -> String {
    let slice = UnsafeRawBufferPointer(rebasing: bytes[Int(line.valueStart)..<Int(line.valueEnd)])
    guard Self.line(line, of: bytes, isNamed: "location") || Self.line(line, of: bytes, isNamed: "content-location"),
      String(utf8Bytes: slice) == nil
    else { return text(bytes, line.valueStart, line.valueEnd) }
    var url: [UInt8] = []
    for byte in slice {
      if byte >= 0x80 { PercentEncoding.appendEncoded(byte, to: &url) } else { url.append(byte < 0x20 ? 0x20 : byte) }
    }
    return String(decoding: url, as: UTF8.self)
  }

  /// Decodes valid UTF-8 as such, and anything else as ISO 8859-1 (RFC 9110 §5.5), so that no byte of a value is lost.
  ///
  /// RFC 9110 §5.5: a bare carriage return or a NUL is replaced, for what reads the value next may take it for an end.
  private static func text(_ bytes: UnsafeRawBufferPointer, _ start: UInt32, _ end: UInt32) -> String {
    let slice = UnsafeRawBufferPointer(rebasing: bytes[Int(start)..<Int(end)])
    guard !slice.contains(where: { $0 == 0x0d || $0 == 0 }) else {
      return slice.map { $0 == 0x0d || $0 == 0 ? 0x20 : $0 }.withUnsafeBytes(decoded)
    }
    return decoded(slice)
  }

  private static func decoded(_ slice: UnsafeRawBufferPointer) -> String {
    String(utf8Bytes: slice)
      ?? String(String.UnicodeScalarView(slice.lazy.map { Unicode.Scalar($0) }))
  }
}

extension UnsafeRawBufferPointer {
  /// Returns the offset behind the next line feed.
  func endOfLine(from start: Int) -> Int? {
    guard start < count, let base = baseAddress, let found = memchr(base + start, 0x0a, count - start) else {
      return nil
    }
    return base.distance(to: found) + 1
  }

  /// Returns the range without surrounding blanks and carriage returns.
  fileprivate func trimmed(_ range: Range<Int>) -> Range<Int> {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d }
    var start = range.lowerBound
    var end = range.upperBound
    while start < end, isBlank(self[start]) { start += 1 }
    while start < end, isBlank(self[end - 1]) { end -= 1 }
    return start..<end
  }
}

#if canImport(FoundationNetworking)
  /// A Foundation response that keeps what Foundation's dictionary loses: the order of the fields, and repeated ones. Not on
  /// Apple's platforms, where `URLSession` receives the responses, and its own classes may not expect a subclass.
  final class ReceivedResponse: HTTPURLResponse, @unchecked Sendable {
    let head: RawHead

    init?(_ head: RawHead) {
      self.head = head
      super.init(
        url: head.url, statusCode: head.statusCode, httpVersion: head.version, headerFields: head.joinedFields)
    }

    /// It is archived as what it inherits from.
    required init?(coder: NSCoder) { nil }
    override var classForCoder: AnyClass { HTTPURLResponse.self }
  }
#endif

extension HeaderFieldList {
  /// Creates a list of the fields of a response, as they were received if the library has received it, on Linux.
  public init(_ response: HTTPURLResponse) {
    #if canImport(FoundationNetworking)
      if let received = response as? ReceivedResponse {
        self.init(received.head.fields)
        return
      }
    #endif
    self.init(response.headerDictionary)
  }
}
