import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseHead {
  /// Returns the head with one more field.
  func adding(_ name: String, _ value: String, url: URL) -> ResponseHead {
    guard let status = statusCode else { return self }
    var fields = fields
    fields.append(name, value)
    return Self.make(status: status, reason: reasonPhrase, fields: fields, url: url) ?? self
  }

  /// Creates an HTTP/1.1 head, which represents every version here. Returns `nil` for values that a head cannot
  /// contain.
  static func make(status: Int, reason: String, fields: HeaderFieldList, url: URL) -> ResponseHead? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(fields.fields.reduce(64) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
    bytes.append(contentsOf: "HTTP/1.1 \(status) \(reason)\r\n".utf8)
    for field in fields.fields {
      bytes.append(contentsOf: field.name.utf8)
      bytes.append(contentsOf: ": ".utf8)
      bytes.append(contentsOf: field.value.utf8)
      bytes.append(contentsOf: "\r\n".utf8)
    }
    bytes.append(contentsOf: "\r\n".utf8)
    return RawHead(bytes: bytes, url: url).map { ResponseHead($0) }
  }
}
