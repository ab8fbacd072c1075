/// The validators with which a stored response can be revalidated (RFC 9110 §8.8, §13).
struct ResponseValidators: Sendable, Equatable {
  /// The entity tag as received; a weak one includes its `W/`.
  let entityTag: String?
  let lastModified: String?

  init(_ fields: HeaderFieldList) {
    // Different values validate nothing.
    entityTag = try? fields.single("etag")
    lastModified = try? fields.single("last-modified")
  }

  var exist: Bool { entityTag != nil || lastModified != nil }

  /// §8.8.3: a strong tag identifies the exact bytes, a weak one equivalent content.
  var strongTag: String? {
    guard let entityTag, !entityTag.hasPrefix("W/") else { return nil }
    return entityTag
  }

  /// RFC 9110 §8.8.3.2: the part that a weak comparison compares.
  var opaqueTag: Substring? { entityTag.map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...] } }

  /// RFC 9111 §4.3.1: both fields if there are both validators, as old servers only support dates.
  var conditionalFields: [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    if let entityTag { fields.append(("If-None-Match", entityTag)) }
    if let lastModified { fields.append(("If-Modified-Since", lastModified)) }
    return fields
  }
}
