/// The positions of the components of an absolute URL (RFC 3986 §3). The fragment is left out.
struct BaseURLParts {
  /// The offset after the authority, where the path begins.
  let pathStart: Int
  /// The offset after the path.
  let pathEnd: Int
  /// The query without its question mark; `nil` if there is no question mark.
  let query: Range<Int>?

  /// Returns `nil` for a URL without a scheme or a host.
  init?(_ url: UnsafeBufferPointer<UInt8>) {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")), colon > 0, url.count >= colon + 3,
      url[colon + 1] == UInt8(ascii: "/"), url[colon + 2] == UInt8(ascii: "/"),
      // A colon after one of these belongs to a path or a query, and the URL has no scheme.
      !url[..<colon].contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
    else { return nil }

    var index = colon + 3
    var hostStart = index
    var hostEnd: Int?
    var isBracketed = false
    scan: while index < url.count {
      switch url[index] {
      case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break scan
      case UInt8(ascii: "@"):
        hostStart = index + 1
        hostEnd = nil
        isBracketed = false
      case UInt8(ascii: "["): isBracketed = true
      case UInt8(ascii: "]"): isBracketed = false
      case UInt8(ascii: ":") where !isBracketed && hostEnd == nil: hostEnd = index
      default: break
      }
      index += 1
    }
    guard hostEnd ?? index > hostStart else { return nil }

    pathStart = index
    while index < url.count, url[index] != UInt8(ascii: "?"), url[index] != UInt8(ascii: "#") { index += 1 }
    pathEnd = index
    guard index < url.count, url[index] == UInt8(ascii: "?") else {
      query = nil
      return
    }
    let end = url[index...].firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
    query = index + 1..<end
  }
}
