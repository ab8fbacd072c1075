import Foundation

/// The URL of a request: the base URL with the request's path and query joined to it.
///
/// It is assembled from bytes in one buffer. `URLComponents` would parse and validate each component again, and leaves
/// `+` and `;` unencoded in a query, which form decoders read as a space and as a separator.
enum RequestURL {
  /// Joins the parts.
  ///
  /// - Throws: ``NetworkError/invalidURL`` for a base without scheme or host, for a path with a `..` segment, and for a
  ///   path that is declared percent-encoded but is not.
  static func make(
    base: URL, path: String, pathIsPercentEncoded: Bool, queryParameters: [String: String]?,
    orderedQuery: [URLQueryItem]? = nil
  ) throws -> URL {
    var base = base.absoluteString
    let bytes = try base.withUTF8 { base in
      guard let parts = BaseURLParts(base) else { throw NetworkError.invalidURL }
      var output: [UInt8] = []
      output.reserveCapacity(base.count + path.utf8.count + 64)
      output.append(contentsOf: base[..<parts.pathEnd])
      try appendPath(path, isPercentEncoded: pathIsPercentEncoded, basePathStart: parts.pathStart, to: &output)
      var hasQuery = parts.query != nil
      if let query = parts.query {
        output.append(UInt8(ascii: "?"))
        output.append(contentsOf: base[query])
      }
      func beginQuery() {
        if !hasQuery || output.last != UInt8(ascii: "&") && output.last != UInt8(ascii: "?") {
          output.append(hasQuery ? UInt8(ascii: "&") : UInt8(ascii: "?"))
        }
        hasQuery = true
      }
      if let queryParameters, !queryParameters.isEmpty {
        beginQuery()
        EncodedPairs.append(sorted: queryParameters, to: &output, encode: encode)
      }
      if let orderedQuery, !orderedQuery.isEmpty {
        beginQuery()
        EncodedPairs.append(orderedQuery, to: &output, encode: encode)
      }
      return output
    }
    guard let url = URL(string: String(decoding: bytes, as: UTF8.self)) else { throw NetworkError.invalidURL }
    return url
  }

  private static func appendPath(
    _ path: String, isPercentEncoded: Bool, basePathStart: Int, to output: inout [UInt8]
  ) throws {
    guard !path.isEmpty else { return }
    while output.count > basePathStart, output.last == UInt8(ascii: "/") { output.removeLast() }
    output.append(UInt8(ascii: "/"))
    var path = path
    try path.withUTF8 { bytes in
      let start = bytes.firstIndex { $0 != UInt8(ascii: "/") } ?? bytes.endIndex
      let tail = UnsafeBufferPointer(rebasing: bytes[start...])
      let traits = PathTraits(tail)
      if traits.mayHoldParentSegment, ParentSegment.occurs(in: tail) { throw NetworkError.invalidURL }
      if traits.isPlain {
        output.append(contentsOf: tail)
      } else if isPercentEncoded {
        guard isValidPercentEncodedPath(tail) else { throw NetworkError.invalidURL }
        output.append(contentsOf: tail)
      } else {
        PercentEncoding.append(tail, to: &output, allowed: PercentEncoding.path)
      }
    }
  }

  /// The properties of a path, collected in one pass, so that an ordinary path is scanned only once.
  private struct PathTraits {
    var isPlain = true
    var mayHoldParentSegment = false

    init(_ path: UnsafeBufferPointer<UInt8>) {
      let allowed = PercentEncoding.path
      var previous: UInt8 = 0
      for byte in path {
        if !allowed.contains(byte) {
          isPlain = false
          if byte == UInt8(ascii: "%") { mayHoldParentSegment = true }
        } else if byte == UInt8(ascii: "."), previous == byte {
          mayHoldParentSegment = true
        }
        previous = byte
      }
    }
  }

  private static func isValidPercentEncodedPath(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
    var index = 0
    while index < path.count {
      if PercentEncoding.path.contains(path[index]) {
        index += 1
      } else if path[index] == UInt8(ascii: "%"), index + 2 < path.count,
        PercentEncoding.value(ofDigit: path[index + 1]) != nil, PercentEncoding.value(ofDigit: path[index + 2]) != nil
      {
        index += 3
      } else {
        return false
      }
    }
    return true
  }

  private static func encode(_ text: String, to output: inout [UInt8]) {
    PercentEncoding.append(text, to: &output, allowed: PercentEncoding.unreserved)
  }
}
