import Foundation

/// The URL of a request: the base URL with the request's path and query joined to it.
///
/// It is assembled from bytes in one buffer. `URLComponents` would parse and validate each component again, and leaves
/// `+` and `;` unencoded in a query, which form decoders read as a space and as a separator.
enum RequestURL {
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
      var separator: UInt8? = UInt8(ascii: "?")
      if let query = parts.query {
        output.append(UInt8(ascii: "?"))
        output.append(contentsOf: base[query])
        // A `?` at the end of a query is part of its last item (RFC 3986 §3.4).
        let isOpen = query.isEmpty || output.last == UInt8(ascii: "&")
        separator = isOpen ? nil : UInt8(ascii: "&")
      }
      func beginQuery() {
        if let separator { output.append(separator) }
        separator = UInt8(ascii: "&")
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
      } else if PercentEncoding.byte(in: path, at: index) != nil {
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

/// The positions of the components of an absolute URL (RFC 3986 §3). The fragment is left out.
struct BaseURLParts {
  /// The offset after the authority, where the path begins.
  let pathStart: Int
  let pathEnd: Int
  /// The query without its question mark; `nil` if there is no question mark.
  let query: Range<Int>?

  private static let delimiters = ByteSet("/?#")

  init?(_ url: UnsafeBufferPointer<UInt8>) {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")), colon > 0, url.count >= colon + 3,
      url[colon + 1] == UInt8(ascii: "/"), url[colon + 2] == UInt8(ascii: "/"),
      // A colon after one of these belongs to a path or a query, and the URL has no scheme.
      !url[..<colon].contains(where: Self.delimiters.contains)
    else { return nil }

    let start = colon + 3
    let end = url[start...].firstIndex(where: Self.delimiters.contains) ?? url.count
    let host = url[(url[start..<end].lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? start)..<end]
    guard let first = host.first, first != UInt8(ascii: ":") else { return nil }

    let fragment = url[end...].firstIndex(of: UInt8(ascii: "#")) ?? url.count
    let mark = url[end..<fragment].firstIndex(of: UInt8(ascii: "?"))
    pathStart = end
    pathEnd = mark ?? fragment
    query = mark.map { $0 + 1..<fragment }
  }
}

/// Finds a `..` segment with which a path would leave the base URL, however it is disguised.
enum ParentSegment {
  /// Returns whether some recipient of the path would see a `..` segment in it.
  ///
  /// Proxies and frameworks decode a path more often than they should, and some treat a backslash as a slash or cut off
  /// a segment's `;` parameters. So the path is decoded until nothing is left to decode, and then split at both.
  static func occurs(in path: UnsafeBufferPointer<UInt8>) -> Bool {
    fullyDecoded(path).split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }.contains(where: isParent)
  }

  private static func isParent(_ segment: ArraySlice<UInt8>) -> Bool {
    let name = segment.prefix { $0 != UInt8(ascii: ";") }
    return name.count == 2 && name.allSatisfy { $0 == UInt8(ascii: ".") }
  }

  /// Decodes the bytes repeatedly, in one pass: a triplet completed by decoding is decoded at once. The output only
  /// ever shrinks, so the work is linear even for `%25252525…`.
  private static func fullyDecoded(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    for byte in bytes {
      output.append(byte)
      while output.count > 2, let value = PercentEncoding.byte(in: output, at: output.count - 3) {
        output.removeLast(3)
        output.append(value)
      }
    }
    return output
  }
}
