import Foundation

/// The `application/x-www-form-urlencoded` serializer of the WHATWG URL standard (§5.2).
enum FormURLEncoding {
  private static let bare = ByteSet.alphanumerics(and: "*-._")

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
}
