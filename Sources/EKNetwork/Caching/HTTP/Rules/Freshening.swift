import Foundation

/// The changes that a 304 or the response to a HEAD makes to a stored response (RFC 9111 §3.2, §4.3.4, §4.3.5).
enum Freshening {
  /// The fields about the stored body, which stays as it is (RFC 9111 §3.2), and the cookies of the request that is
  /// answered, which has received them.
  private static let kept: Set<String> = [
    "content-length", "content-encoding", "content-range", "content-md5", "set-cookie", "set-cookie2",
  ]

  /// The fields about the representation and how it may be stored, which are the same for every user.
  static let describing: Set<String> = [
    "age", "cache-control", "connection", "date", "etag", "expires", "last-modified", "vary",
  ]

  /// Returns whether a 304 applies to this response. One for another version cannot be used (§4.3.4).
  ///
  /// A strong tag need not have been strong in the stored response: a server that encodes a body makes its tag weak, but
  /// not that of a 304.
  static func applies(_ update: HeaderFieldList, to stored: HeaderFieldList) -> Bool {
    // Different values of a validator are those of another version, at least one of them.
    guard let tag = try? update.single("etag") ?? "", let date = try? update.single("last-modified") ?? "" else {
      return false
    }
    let (new, old) = (ResponseValidators(update), ResponseValidators(stored))
    if !tag.isEmpty, let new = new.opaqueTag, let old = old.opaqueTag { return new == old }
    // The stored response lacks a strong tag that the current version has.
    guard new.strongTag == nil else { return false }
    // Without any validator, it is about the response whose validators were sent.
    return date.isEmpty ? tag.isEmpty : isSameDate(date, old.lastModified)
  }

  private static func isSameDate(_ first: String, _ second: String?) -> Bool {
    guard let second, first != second else { return second != nil }
    let now = Date()
    guard let date = HTTPDate.parse(first, now: now) else { return false }
    return date == HTTPDate.parse(second, now: now)
  }

  /// Returns whether the response to a HEAD still describes the stored response (§4.3.5).
  static func headMatches(_ update: HeaderFieldList, _ stored: HeaderFieldList) -> Bool {
    let (new, old) = (ResponseValidators(update), ResponseValidators(stored))
    if let tag = new.entityTag, tag != old.entityTag { return false }
    if let date = new.lastModified, date != old.lastModified { return false }
    if let length = update.value("content-length"), length != stored.value("content-length") { return false }
    return true
  }

  /// Returns the stored fields with the update applied.
  static func updated(_ stored: HeaderFieldList, with update: HeaderFieldList, at now: Date) -> HeaderFieldList {
    var result = stored
    // The stored Age, and a Date that the update does not replace, describe the old response.
    result.remove("age")
    let update = StoredFields.kept(of: update)
    let names = Set(update.fields.map { $0.name.lowercased() }).subtracting(kept)
    result.remove { names.contains($0) }
    for field in update.fields where names.contains(field.name.lowercased()) { result.append(field.name, field.value) }
    if !names.contains("date") { result.set("Date", HTTPDate.text(now)) }
    return result
  }
}
