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

/// Encodes `name=value` pairs joined by `&`.
enum EncodedPairs {
  /// Appends the pairs sorted by name, each part encoded by `encode`.
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
