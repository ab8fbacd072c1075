import Foundation

/// The header fields of a request, validated by the rules of RFC 9110.
///
/// Depending on the setter and the platform, `URLRequest` either drops an invalid value silently or sends it as an
/// injected line. So everything is validated here, and the whole dictionary is assigned at once.
struct HeaderFields {
  /// The fields, under the names given by the request.
  private(set) var fields: [String: String] = [:]

  /// The names that the request used for the fields that the library may set.
  private var ownAccept: String?
  private var ownAuthorization: String?
  private var ownContentLength: String?
  private var ownContentType: String?
  private var ownUserAgent: String?

  /// Validates the request's own fields. Names that differ only in case are one field.
  init(_ headers: [String: String]?, _ list: HeaderFieldList? = nil) throws {
    let own = Self.joiningNamesOfAllCases(Self.joined(headers, list) ?? [:])
    // One allocation, also for what the library adds to most requests.
    fields.reserveCapacity(own.isEmpty ? 3 : own.count + 5)
    do {
      for (name, value) in own { try insert(name, value) }
    } catch {
      // A dictionary has no order: with two invalid fields, the same error must be thrown every time.
      fields = [:]
      for (name, value) in own.sorted(by: { $0.key < $1.key }) { try insert(name, value) }
      throw error
    }
  }

  /// Returns the fields of both, the repeated ones of the list joined.
  static func joined(_ headers: [String: String]?, _ list: HeaderFieldList?) -> [String: String]? {
    guard let list, !list.isEmpty else { return headers }
    return joining(sorted(headers ?? [:]) + list.map { ($0.name, $0.value) })
  }

  /// Sets `Authorization: Bearer …`, unless the request has such a field. A blank token is ignored.
  mutating func setBearerToken(_ token: String?) throws {
    guard ownAuthorization == nil, let token else { return }
    let value = try InvalidHeaderError.checked(token, of: "Authorization")
    if !value.isEmpty { fields["Authorization"] = "Bearer " + value }
  }

  mutating func add(_ defaults: HeaderFieldList) throws {
    for field in defaults {
      guard !["content-type", "content-length"].contains(field.name.lowercased()) else {
        throw InvalidHeaderError(field: field.name, reason: .managedByLibrary)
      }
      if fields.field(field.name) == nil { try insert(field.name, field.value) }
    }
  }

  mutating func setDefaults(accept: String?, userAgent: String?) throws {
    if ownAccept == nil, let accept { fields["Accept"] = accept }
    guard ownUserAgent == nil, let userAgent else { return }
    let value = try InvalidHeaderError.checked(userAgent, of: "User-Agent")
    if !value.isEmpty { fields["User-Agent"] = value }
  }

  /// Sets `Content-Type` and `Content-Length` for the payload.
  ///
  /// A length set by the request is dropped: if it were wrong, the bytes after the body would be read as another
  /// request (RFC 9112 §11.2), and with a chunked stream it is forbidden (§6.2).
  mutating func describe(_ payload: RequestPayload) throws {
    if let ownContentLength { fields[ownContentLength] = nil }
    if payload.exists, let length = payload.length { fields["Content-Length"] = String(length) }
    try describe(payload.contentType)
  }

  /// Sets the `Content-Type`, unless the request has one. A multipart type of its own without a boundary, which could not be
  /// parsed (RFC 2046 §5.1.1), gets that of the body.
  mutating func describe(_ contentType: String) throws {
    guard let ownContentType else {
      let value = try InvalidHeaderError.checked(contentType, of: "Content-Type")
      if !value.isEmpty { fields["Content-Type"] = value }
      return
    }
    guard contentType.hasPrefix("multipart/"), let start = contentType.range(of: "; boundary=")?.lowerBound,
      let own = fields[ownContentType], case let type = own.lowercased(), type.hasPrefix("multipart/"),
      !type.contains("boundary=")
    else { return }
    // Without the other parameters of the body's type. None of the characters of a boundary is a semicolon.
    let boundary = contentType[start...].dropFirst().prefix { $0 != ";" }
    fields[ownContentType] = try InvalidHeaderError.checked("\(own);\(boundary)", of: ownContentType)
  }

  mutating func expectContinue() {
    if fields.field("Expect") == nil { fields["Expect"] = "100-continue" }
  }

  /// Merges fields whose names differ only in case: the values of `X-A` and `x-a` are joined like those of a repeated
  /// field (RFC 9110 §5.3), in the order of their names. Cookies are joined as in RFC 6265 §4.2.1.
  static func joiningNamesOfAllCases(_ own: [String: String]) -> [String: String] {
    guard own.count > 1 else { return own }
    // Few names have the same length: comparing them in pairs takes less than a set of all in lower case.
    let names = Array(own.keys)
    let isRepeated = names.indices.contains { index in
      names[..<index].contains {
        $0.utf8.count == names[index].utf8.count && $0.isFieldName(names[index].lowercased())
      }
    }
    return isRepeated ? joining(sorted(own)) : own
  }

  private static func sorted(_ headers: [String: String]) -> [(String, String)] {
    headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Joins the values of names that differ only in case, under the first one.
  private static func joining(_ fields: [(String, String)]) -> [String: String] {
    var names: [String: String] = [:]
    var joined: [String: String] = [:]
    for (name, value) in fields {
      let lowercased = name.lowercased()
      if let first = names[lowercased] {
        // RFC 9110 §5.3, and RFC 6265 §4.2.1 for cookies.
        joined[first]?.append((lowercased == "cookie" ? "; " : ", ") + value)
      } else {
        names[lowercased] = name
        joined[name] = value
      }
    }
    return joined
  }

  private mutating func insert(_ name: String, _ value: String) throws {
    let value = try InvalidHeaderError.checked(value, of: name)
    switch name.utf8.count {
    case 6 where HeaderSyntax.isSame(name, "accept"): ownAccept = name
    case 10 where HeaderSyntax.isSame(name, "user-agent"): ownUserAgent = name
    case 12 where HeaderSyntax.isSame(name, "content-type"): ownContentType = name
    case 13 where HeaderSyntax.isSame(name, "authorization"): ownAuthorization = name
    case 14 where HeaderSyntax.isSame(name, "content-length"): ownContentLength = name
    case 17 where HeaderSyntax.isSame(name, "transfer-encoding"):
      throw InvalidHeaderError(field: name, reason: .managedByLibrary)
    default: break
    }
    fields[name] = value
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
