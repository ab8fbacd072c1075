/// The grammar of field names and values (RFC 9110 §5).
enum HeaderSyntax {
  /// `tchar` (RFC 9110 §5.6.2).
  static let token = ByteSet.alphanumerics(and: "!#$%&'*+-.^_`|~")

  static func isToken(_ string: String) -> Bool {
    var string = string
    let token = token
    return !string.isEmpty && string.withUTF8 { $0.allSatisfy(token.contains) }
  }

  /// Returns the value without surrounding whitespace, which is not part of a value (RFC 9110 §5.5); `nil` for a value
  /// with CR, LF, NUL or a control character other than the tab. Bytes outside ASCII are `obs-text`, which is allowed.
  static func trimmedValue(_ value: String) -> String? {
    var value = value
    var isTrimmed = true
    let isValid = value.withUTF8 { bytes in
      if let first = bytes.first, let last = bytes.last { isTrimmed = !isBlank(first) && !isBlank(last) }
      return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
    guard isValid else { return nil }
    return isTrimmed ? value : String(value[...].trimmingBlanks())
  }

  /// Returns whether two names of the same length are equal, ignoring the case of ASCII letters.
  static func isSame(_ name: String, _ lowercased: StaticString) -> Bool {
    var name = name
    return name.withUTF8 { isSame($0, lowercased) }
  }

  static func isSame(_ name: some Sequence<UInt8>, _ lowercased: StaticString) -> Bool {
    lowercased.withUTF8Buffer { other in
      zip(name, other).allSatisfy { $0 == $1 || $0 | 0x20 == $1 && $1 >= UInt8(ascii: "a") }
    }
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

/// Bytes of a field value that are not UTF-8 (`obs-text`, RFC 9110 §5.5), carried through the strings of a request until
/// it is written: each is a character at the end of a private-use plane, which text does not contain.
enum ObsoleteText {
  private static let base: UInt32 = 0x10_FF00

  /// Returns the text of bytes, which are carried unless they are UTF-8.
  static func text(_ bytes: [UInt8]) -> String {
    if let text = bytes.withUnsafeBytes({ String(utf8Bytes: $0) }), !isCarried(in: text) { return text }
    return carried(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
  }

  /// Returns text in which each character is one byte (ISO 8859-1), as it is carried.
  static func carried(_ text: String.UnicodeScalarView) -> String {
    String(
      String.UnicodeScalarView(
        text.lazy.map { $0.isASCII ? $0 : Unicode.Scalar(base + ($0.value & 0xFF)) ?? $0 }))
  }

  /// Returns whether text contains characters that would be taken for carried bytes.
  static func isCarried(in text: String) -> Bool {
    var text = text
    // The first byte of these characters in UTF-8.
    return text.withUTF8 { $0.contains(0xF4) } && text.unicodeScalars.contains { $0.value >= base + 0x80 }
  }

  /// Returns the bytes to write; `nil` if the text is written as it is.
  static func bytes(_ text: String) -> [UInt8]? {
    guard isCarried(in: text) else { return nil }
    return text.unicodeScalars.flatMap {
      $0.value >= base + 0x80 ? [UInt8(truncatingIfNeeded: $0.value)] : Array(UTF8.encode($0) ?? .init())
    }
  }
}

/// The comma-separated lists of header fields (RFC 9110 §5.6.1).
enum FieldList {
  /// Returns the members of a list without surrounding whitespace. A separator within a quoted string does not separate
  /// members.
  static func members(
    _ value: String, separatedBy separator: UInt8 = UInt8(ascii: ","), omittingEmpty: Bool = true
  ) -> [Substring] {
    var members: [Substring] = []
    var start = value.startIndex
    var index = start
    var isQuoted = false
    let bytes = value.utf8
    func add(until end: String.Index) {
      let member = value[start..<end].trimmingBlanks()
      if !member.isEmpty || !omittingEmpty { members.append(member) }
    }
    while index < bytes.endIndex {
      switch bytes[index] {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: "\\") where isQuoted:
        // A quoted pair: the next character is taken literally (RFC 9110 §5.6.4).
        index = bytes.index(after: index)
        if index == bytes.endIndex { continue }
      case separator where !isQuoted:
        add(until: index)
        start = bytes.index(after: index)
      default: break
      }
      index = bytes.index(after: index)
    }
    add(until: bytes.endIndex)
    return members
  }

  /// Returns whether a list has this member, which is in lower case, in any case.
  static func contains(_ member: String, in value: String) -> Bool {
    members(value).contains { $0.lowercased() == member }
  }
}

extension BidirectionalCollection<UInt8> where SubSequence == Self {
  func trimmingBlanks() -> Self {
    var rest = self
    while let first = rest.first, HeaderSyntax.isBlank(first) { rest = rest.dropFirst() }
    while let last = rest.last, HeaderSyntax.isBlank(last) { rest = rest.dropLast() }
    return rest
  }
}

extension Substring {
  func trimmingBlanks() -> Substring { Substring(utf8.trimmingBlanks()) }

  /// Returns the content if the text is a quoted string (RFC 9110 §5.6.4), and otherwise the text.
  func unquoted() -> String {
    guard utf8.count > 1, hasPrefix("\""), hasSuffix("\"") else { return String(self) }
    var (text, isEscaped) = ("", false)
    for scalar in dropFirst().dropLast().unicodeScalars {
      isEscaped = scalar == "\\" && !isEscaped
      if !isEscaped { text.unicodeScalars.append(scalar) }
    }
    return text
  }
}

extension String {
  /// The media type of a `Content-Type`, without its parameters. Of different ones in repeated lines it is unknown which
  /// is meant (RFC 9110 §8.3): what is returned then equals no media type.
  var mediaType: String {
    let types = FieldList.members(self).map { $0.prefix { $0 != ";" }.trimmingBlanks().lowercased() }
    guard let first = types.first, types.allSatisfy({ $0 == first }) else { return lowercased() }
    return first
  }
}
