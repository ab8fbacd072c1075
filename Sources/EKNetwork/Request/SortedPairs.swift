/// Encodes `name=value` pairs joined by `&`, in a stable order.
enum SortedPairs {
  /// Appends the pairs sorted by name, each part encoded by `encode`.
  static func append(
    _ pairs: [String: String], to output: inout [UInt8], encode: (String, inout [UInt8]) -> Void
  ) {
    let pairs = pairs.count == 1 ? Array(pairs) : pairs.sorted { $0.key < $1.key }
    var isFirst = true
    for (name, value) in pairs {
      if !isFirst { output.append(UInt8(ascii: "&")) }
      isFirst = false
      encode(name, &output)
      output.append(UInt8(ascii: "="))
      encode(value, &output)
    }
  }
}
