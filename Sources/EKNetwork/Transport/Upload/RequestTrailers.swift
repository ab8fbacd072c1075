/// The trailer fields of a request (RFC 9110 §6.5), which follow its body.
enum RequestTrailers {
  /// What RFC 9110 §6.5.1 forbids: fields that frame or route the message, that say how the request or its content is to be
  /// processed, or that authenticate its sender. A recipient that merges trailers into the head would act on them.
  private static let forbidden: Set<String> = [
    "authorization", "cache-control", "connection", "content-encoding", "content-length", "content-location",
    "content-range", "content-type", "cookie", "expect", "host", "keep-alive", "max-forwards", "pragma",
    "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// Returns the fields as lines, each with its line end.
  ///
  /// - Throws: ``InvalidHeaderError``.
  static func lines(of fields: HeaderFieldList) throws(InvalidHeaderError) -> [UInt8] {
    var checked: [(name: String, value: String)] = []
    for field in fields {
      guard HeaderSyntax.isToken(field.name) else {
        throw InvalidHeaderError(field: field.name, reason: .invalidName)
      }
      guard let value = HeaderSyntax.trimmedValue(field.value) else {
        throw InvalidHeaderError(field: field.name, reason: .invalidValue)
      }
      let name = field.name.lowercased()
      guard !forbidden.contains(name), !name.hasPrefix("if-") else {
        throw InvalidHeaderError(field: field.name, reason: .managedByLibrary)
      }
      checked.append((field.name, value))
    }
    return HeaderBlock(checked).bytes
  }
}
