import Foundation

/// Percent-encoding of UTF-8 bytes (RFC 3986 §2.1).
enum PercentEncoding {
  /// The characters that are equivalent bare and encoded (RFC 3986 §2.3).
  static let unreserved = ByteSet.alphanumerics(and: "-._~")
  /// The characters allowed in a path: `pchar` without `pct-encoded`, and the slash (RFC 3986 §3.3).
  static let path = ByteSet.alphanumerics(and: "-._~!$&'()*+,;=:@/")

  static func append(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8], allowed: ByteSet) {
    for byte in bytes {
      if allowed.contains(byte) { output.append(byte) } else { appendEncoded(byte, to: &output) }
    }
  }

  static func append(_ string: String, to output: inout [UInt8], allowed: ByteSet) {
    var string = string
    string.withUTF8 { append($0, to: &output, allowed: allowed) }
  }

  static func encoded(_ string: String, allowed: ByteSet) -> String {
    var output: [UInt8] = []
    append(string, to: &output, allowed: allowed)
    return String(decoding: output, as: UTF8.self)
  }

  /// Appends `%` and two hexadecimal digits, in upper case as RFC 3986 §2.1 recommends.
  static func appendEncoded(_ byte: UInt8, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "%"))
    output.append(digit(byte >> 4))
    output.append(digit(byte & 15))
  }

  /// Returns the byte that a percent sign at this position encodes; `nil` if there is no such sign and its two digits.
  static func byte<Bytes: RandomAccessCollection<UInt8>>(in bytes: Bytes, at index: Int) -> UInt8?
  where Bytes.Index == Int {
    guard bytes.endIndex - index > 2, bytes[index] == UInt8(ascii: "%"), let high = value(ofDigit: bytes[index + 1]),
      let low = value(ofDigit: bytes[index + 2])
    else { return nil }
    return high << 4 | low
  }

  /// Returns the bytes of a text, with those that are encoded in it.
  static func decoded(_ text: Substring) -> [UInt8] {
    let bytes = Array(text.utf8)
    var (output, index) = ([UInt8](), 0)
    while index < bytes.count {
      let encoded = byte(in: bytes, at: index)
      output.append(encoded ?? bytes[index])
      index += encoded == nil ? 1 : 3
    }
    return output
  }

  static func value(ofDigit byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

extension UInt8 {
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

/// A set of ASCII bytes whose membership test is one shift and one mask.
struct ByteSet: Sendable {
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  static func alphanumerics(and others: StaticString) -> ByteSet {
    var set = ByteSet(others)
    for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { set.insert(byte) }
    for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { set.insert(byte) }
    for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { set.insert(byte) }
    return set
  }

  init(_ characters: StaticString) {
    characters.withUTF8Buffer { for byte in $0 { insert(byte) } }
  }

  private mutating func insert(_ byte: UInt8) {
    if byte < 64 { low |= 1 << UInt64(byte) } else if byte < 128 { high |= 1 << UInt64(byte - 64) }
  }

  /// Returns whether the byte is a member; bytes outside ASCII never are.
  @inline(__always)
  func contains(_ byte: UInt8) -> Bool {
    // The smart shift gives 0 for a distance past the width, so bytes from 128 on need no branch of their own.
    byte < 64 ? low >> UInt64(byte) & 1 == 1 : high >> UInt64(byte &- 64) & 1 == 1
  }
}

/// The `application/x-www-form-urlencoded` serializer of the WHATWG URL standard (§5.2).
enum FormURLEncoding {
  private static let bareOrSpace = ByteSet.alphanumerics(and: "*-._ ")

  /// Encodes the pairs, sorted by name; a space becomes `+`.
  static func encode(_ pairs: [String: String]) -> Data {
    var output: [UInt8] = []
    EncodedPairs.append(sorted: pairs, to: &output, encode: encode)
    return Data(output)
  }

  /// Encodes the items in order. One without a value has an empty one: forms know no other (§5.2).
  static func encode(_ items: [URLQueryItem]) -> Data {
    var output: [UInt8] = []
    EncodedPairs.append(items.map { URLQueryItem(name: $0.name, value: $0.value ?? "") }, to: &output, encode: encode)
    return Data(output)
  }

  private static func encode(_ string: String, to output: inout [UInt8]) {
    let start = output.count
    PercentEncoding.append(string, to: &output, allowed: bareOrSpace)
    for index in start..<output.count where output[index] == UInt8(ascii: " ") { output[index] = UInt8(ascii: "+") }
  }
}

/// Encodes `name=value` pairs joined by `&`.
enum EncodedPairs {
  static func append(
    sorted pairs: [String: String], to output: inout [UInt8], encode: (String, inout [UInt8]) -> Void
  ) {
    let pairs = pairs.count == 1 ? Array(pairs) : pairs.sorted { $0.key < $1.key }
    append(pairs.lazy.map { ($0.key, $0.value) }, to: &output, encode: encode)
  }

  /// Appends the items in order; one without a value has no `=`.
  static func append(_ items: [URLQueryItem], to output: inout [UInt8], encode: (String, inout [UInt8]) -> Void) {
    append(items.lazy.map { ($0.name, $0.value) }, to: &output, encode: encode)
  }

  private static func append(
    _ pairs: some Sequence<(name: String, value: String?)>, to output: inout [UInt8],
    encode: (String, inout [UInt8]) -> Void
  ) {
    var isFirst = true
    for (name, value) in pairs {
      if !isFirst { output.append(UInt8(ascii: "&")) }
      isFirst = false
      encode(name, &output)
      guard let value else { continue }
      output.append(UInt8(ascii: "="))
      encode(value, &output)
    }
  }
}

extension String {
  /// Creates a string from UTF-8 bytes; returns `nil` for invalid UTF-8. A byte order mark is kept.
  ///
  /// The standard library's equivalent requires newer systems than the package supports.
  init?(utf8Bytes bytes: UnsafeRawBufferPointer) {
    // Invalid bytes are replaced, so the result differs from the input.
    var text = String(decoding: bytes, as: UTF8.self)
    let isSame = text.withUTF8 { $0.count == bytes.count && $0.elementsEqual(bytes) }
    guard isSame else { return nil }
    self = text
  }
}
