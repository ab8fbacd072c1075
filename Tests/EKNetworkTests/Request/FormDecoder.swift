/// A decoder of query strings and form bodies, written from the WHATWG URL standard (§5.1) and not from the encoder.
enum FormDecoder {
  static func pairs(_ text: String, plusIsSpace: Bool) -> [(String, String)] {
    guard !text.isEmpty else { return [] }
    return text.split(separator: "&", omittingEmptySubsequences: true).map { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      return (
        decode(parts[0], plusIsSpace: plusIsSpace), parts.count > 1 ? decode(parts[1], plusIsSpace: plusIsSpace) : ""
      )
    }
  }

  static func decode(_ text: String, plusIsSpace: Bool) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
