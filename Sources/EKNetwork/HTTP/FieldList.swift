/// The comma-separated lists of header fields (RFC 9110 §5.6.1).
enum FieldList {
  /// Returns the members of a list without surrounding whitespace, omitting empty ones. A comma within a quoted string
  /// does not separate members.
  static func members(_ value: String) -> [Substring] {
    var members: [Substring] = []
    var start = value.startIndex
    var index = start
    var isQuoted = false
    let bytes = value.utf8
    func add(until end: String.Index) {
      let member = value[start..<end].trimmingBlanks()
      if !member.isEmpty { members.append(member) }
    }
    while index < bytes.endIndex {
      switch bytes[index] {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: "\\") where isQuoted:
        // A quoted pair: the next character is taken literally (RFC 9110 §5.6.4).
        index = bytes.index(after: index)
        if index == bytes.endIndex { continue }
      case UInt8(ascii: ",") where !isQuoted:
        add(until: index)
        start = bytes.index(after: index)
      default: break
      }
      index = bytes.index(after: index)
    }
    add(until: bytes.endIndex)
    return members
  }
}

extension Substring {
  /// Returns the text without leading and trailing spaces and tabs.
  func trimmingBlanks() -> Substring {
    var rest = utf8
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    while let first = rest.first, isBlank(first) { rest = rest.dropFirst() }
    while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
    return Substring(rest)
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
