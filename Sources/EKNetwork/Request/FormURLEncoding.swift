import Foundation

/// The `application/x-www-form-urlencoded` serializer of the WHATWG URL standard (§5.2).
enum FormURLEncoding {
  private static let bare = ByteSet.alphanumerics(and: "*-._")

  /// Encodes the pairs, sorted by name; a space becomes `+`.
  static func encode(_ pairs: [String: String]) -> Data {
    var output: [UInt8] = []
    SortedPairs.append(pairs, to: &output) { string, output in
      var string = string
      string.withUTF8 { bytes in
        for byte in bytes {
          if bare.contains(byte) {
            output.append(byte)
          } else if byte == UInt8(ascii: " ") {
            output.append(UInt8(ascii: "+"))
          } else {
            PercentEncoding.appendEncoded(byte, to: &output)
          }
        }
      }
    }
    return Data(output)
  }
}
