import Foundation

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
