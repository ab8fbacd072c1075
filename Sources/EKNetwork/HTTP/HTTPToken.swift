/// The characters that RFC 9110 allows in methods and header fields.
enum HTTPToken {
  /// RFC 9110 §5.6.2.
  static func isValid(_ token: String) -> Bool {
    !token.isEmpty
      && token.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: symbols.contains(byte)
        }
      }
  }

  /// RFC 9110 §5.5: what would end the field, or the string in a library written in C, is forbidden.
  static func isValid(fieldValue: String) -> Bool {
    fieldValue.utf8.allSatisfy { $0 != 0 && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
  }

  private static let symbols = Set("!#$%&'*+-.^_`|~".utf8)
}
