/// What the server can be asked by whether a stored response is still the one (RFC 9110 §8.8, §13).
struct ResponseValidators: Sendable, Equatable {
  /// The entity tag as it came, weak ones with their `W/`.
  let entityTag: String?
  let lastModified: String?

  init(_ fields: CacheFields) {
    let tag = fields.values("etag").first
    entityTag = tag?.isEmpty == false ? tag : nil
    let modified = fields.values("last-modified").first
    lastModified = modified?.isEmpty == false ? modified : nil
  }

  var exist: Bool { entityTag != nil || lastModified != nil }

  /// §8.8.3: strong tags name the bytes, weak ones the meaning.
  var strongTag: String? {
    guard let entityTag, !entityTag.hasPrefix("W/") else { return nil }
    return entityTag
  }

  /// RFC 9110 §8.8.3.2: what a weak comparison looks at.
  var opaqueTag: Substring? { entityTag.map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...] } }

  /// RFC 9111 §4.3.1: both, where there are both: old servers know dates alone.
  var conditionalFields: [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    if let entityTag { fields.append(("If-None-Match", entityTag)) }
    if let lastModified { fields.append(("If-Modified-Since", lastModified)) }
    return fields
  }
}
