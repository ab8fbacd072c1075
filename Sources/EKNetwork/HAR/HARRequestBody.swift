import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The recorded body of a request.
struct HARRequestBody: Sendable, Equatable {
  var type: String
  /// The size in bytes; `nil` if it is unknown before the body is sent.
  var size: Int64?
  /// The digest; `nil` for a stream, which only its receiver can read.
  var digest: String?
  /// The body itself, if that may be shown.
  var data: Data?

  /// Returns `nil` for a request without a body.
  init?(_ request: URLRequest, redaction: HARRedaction, limit: Int) {
    let type = request.value(forHTTPHeaderField: "Content-Type") ?? ""
    if let body = request.httpBody, !body.isEmpty {
      self.init(body, type: type, redaction: redaction)
      if !redaction.hidesSecrets { data = Data(body.prefix(limit)) }
    } else if request.httpBodyStream != nil {
      let size = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
      self.init(type: type, size: size, digest: nil)
    } else {
      return nil
    }
  }

  init(_ body: Data, type: String, redaction: HARRedaction) {
    self.type = type
    size = Int64(body.count)
    digest = redaction.digest(Self.canonical(body, type: type))
  }

  init(type: String, size: Int64?, digest: String?) {
    self.type = type
    self.size = size
    self.digest = digest
  }

  /// Returns whether the two may be the same body, as far as both are known.
  static func isSame(_ one: HARRequestBody?, _ other: HARRequestBody?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    if let digest = one.digest, let other = other.digest { return digest == other }
    if let size = one.size, let other = other.size, !one.isMultipart { return size == other }
    return true
  }

  private var isMultipart: Bool { type.lowercased().hasPrefix("multipart/") }

  /// Returns the body without what differs from run to run: the order of a JSON object's members, which is that of a
  /// dictionary, and the boundary of a form, which is random.
  private static func canonical(_ body: Data, type: String) -> Data {
    let media = type.lowercased().prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    if media.hasSuffix("/json") || media.hasSuffix("+json") {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      let value = try? JSONDecoder().decode(JSONValue.self, from: body)
      return value.flatMap { try? encoder.encode($0) } ?? body
    }
    guard media.hasPrefix("multipart/"), let boundary = boundary(of: type) else { return body }
    var result = Data()
    var rest = body[...]
    while let found = rest.range(of: boundary) {
      result += rest[..<found.lowerBound] + Data("boundary".utf8)
      rest = rest[found.upperBound...]
    }
    return result + rest
  }

  /// Returns the boundary of a multipart body (RFC 2046 §5.1.1).
  private static func boundary(of type: String) -> Data? {
    guard let start = type.range(of: "boundary=", options: .caseInsensitive) else { return nil }
    let value = type[start.upperBound...].prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    let boundary = value.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
    return boundary.isEmpty ? nil : Data(boundary.utf8)
  }
}
