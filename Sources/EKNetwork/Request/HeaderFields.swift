import Foundation

/// The header fields of a request, validated by the rules of RFC 9110, each name once.
struct HeaderFields {
  /// The fields, under the names given by the request.
  private(set) var list = HeaderFieldList()

  var fields: [String: String] { list.dictionary }

  /// Validates the request's own fields: those of the dictionary, sorted by name, and those of the list. Names that differ only
  /// in case are one field.
  init(_ headers: [String: String]?, _ list: HeaderFieldList? = nil) throws {
    let own = Self.joined(headers, list)
    // One allocation, also for what the library adds to most requests.
    self.list.reserveCapacity(own.count + 5)
    for field in own { try insert(field.name, field.value) }
  }

  mutating func setBearerToken(_ token: String?) throws {
    if let token, !list.contains("authorization") { try append("Authorization", token, after: "Bearer ") }
  }

  /// A blank value is ignored.
  private mutating func append(_ name: String, _ value: String, after prefix: String = "") throws {
    let value = try InvalidHeaderError.checked(value, of: name)
    if !value.isEmpty { list.append(name, prefix + value) }
  }

  mutating func add(_ defaults: HeaderFieldList) throws {
    for field in defaults {
      guard !["content-type", "content-length"].contains(field.name.lowercased()) else {
        throw InvalidHeaderError(field: field.name, reason: .managedByLibrary)
      }
      if !list.contains(field.name.lowercased()) { try insert(field.name, field.value) }
    }
  }

  mutating func setDefaults(accept: String?, userAgent: String?) throws {
    if let accept, !list.contains("accept") { list.append("Accept", accept) }
    if let userAgent, !list.contains("user-agent") { try append("User-Agent", userAgent) }
  }

  /// Sets `Content-Type` and `Content-Length` for the payload.
  ///
  /// A length set by the request is dropped: if it were wrong, the bytes after the body would be read as another
  /// request (RFC 9112 §11.2), and with a chunked stream it is forbidden (§6.2).
  mutating func describe(_ payload: RequestPayload) throws {
    list.remove("content-length")
    if let length = payload.length { list.append("Content-Length", String(length)) }
    try describe(payload.contentType)
  }

  /// Sets the `Content-Type`, unless the request has one. A multipart type of its own without a boundary, which could not be
  /// parsed (RFC 2046 §5.1.1), gets that of the body.
  mutating func describe(_ contentType: String) throws {
    guard let own = list.first(where: { $0.name.isFieldName("content-type") }) else {
      return try append("Content-Type", contentType)
    }
    guard contentType.hasPrefix("multipart/"), let start = contentType.range(of: "; boundary=")?.lowerBound,
      case let type = own.value.lowercased(), type.hasPrefix("multipart/"), !type.contains("boundary=")
    else { return }
    // Without the other parameters of the body's type. None of the characters of a boundary is a semicolon.
    let boundary = contentType[start...].dropFirst().prefix { $0 != ";" }
    list.replace(own.name, try InvalidHeaderError.checked("\(own.value);\(boundary)", of: own.name))
  }

  mutating func expectContinue() {
    if !list.contains("expect") { list.append("Expect", "100-continue") }
  }

  /// Returns the fields of both, those of the dictionary sorted by name, each name once whatever its case: the values of `X-A` and
  /// `x-a` are joined under the first of them, like those of a repeated field (RFC 9110 §5.3), and cookies as in RFC 6265 §4.2.1.
  static func joined(_ headers: [String: String]?, _ list: HeaderFieldList? = nil) -> [HeaderFieldList.Field] {
    let fields = HeaderFieldList(headers).fields + (list?.fields ?? [])
    guard fields.count > 1 else { return fields }
    var joined: [HeaderFieldList.Field] = []
    var places: [String: Int] = [:]
    for field in fields {
      let lowercased = field.name.lowercased()
      if let place = places[lowercased] {
        joined[place].value += (lowercased == "cookie" ? "; " : ", ") + field.value
      } else {
        places[lowercased] = joined.count
        joined.append(field)
      }
    }
    return joined
  }

  private mutating func insert(_ name: String, _ value: String) throws {
    let value = try InvalidHeaderError.checked(value, of: name)
    if name.isFieldName("transfer-encoding") { throw InvalidHeaderError(field: name, reason: .managedByLibrary) }
    list.append(name, value)
  }
}

extension [String: String] {
  /// Returns the value of a header field; names are case-insensitive (RFC 9110 §5.1).
  func field(_ name: String) -> String? {
    if let value = self[name] { return value }
    let name = name.lowercased()
    return first { $0.key.isFieldName(name) }?.value
  }
}
