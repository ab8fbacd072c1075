import Foundation

extension StringProtocol {
  /// Returns whether two texts are equal without regard to ASCII case, as field names and tokens require.
  func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
    let left = utf8
    let right = other.utf8
    guard left.count == right.count else { return false }
    return zip(left, right).allSatisfy { $0 == $1 || $0.lowercasedASCII == $1.lowercasedASCII }
  }

  /// The text without leading and trailing spaces and tabs.
  var trimmingSpaces: SubSequence {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let front = drop(while: isSpace)
    guard let last = front.lastIndex(where: { !isSpace($0) }) else { return front }
    return front[...last]
  }
}

extension UInt8 {
  /// The byte with ASCII capitals in lower case.
  var lowercasedASCII: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

  static let carriageReturn: UInt8 = 0x0D
  static let lineFeed: UInt8 = 0x0A

  /// The value of a hexadecimal digit.
  var hexValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x41 + 10
    case 0x61...0x66: self - 0x61 + 10
    default: nil
    }
  }

  /// Whether the byte may occur in a token (RFC 9110, section 5.6.2).
  var isTokenCharacter: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
    default: false
    }
  }
}

extension String {
  /// Decodes text in UTF-8 or, if that is not valid, in ISO 8859-1; header fields may use either.
  init(latin1Or8 bytes: ArraySlice<UInt8>) {
    if bytes.allSatisfy({ $0 < 0x80 }) {
      self = String(decoding: bytes, as: UTF8.self)
    } else {
      self = String(bytes: bytes, encoding: .utf8) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
  }
}
