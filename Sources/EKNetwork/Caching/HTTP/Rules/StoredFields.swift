/// The header fields of a response that are stored (RFC 9111 §3.1).
enum StoredFields {
  /// The hop-by-hop fields (RFC 9110 §7.6.1), and those between a client and its proxy (RFC 9111 §3.1).
  private static let connection: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
    "proxy-authentication-info", "proxy-authorization",
  ]

  static func kept(of fields: HeaderFieldList) -> HeaderFieldList {
    var listed: Set<String> = []
    for value in fields.values("connection") {
      for name in FieldList.members(value) { listed.insert(name.lowercased()) }
    }
    var kept = fields
    kept.remove { connection.contains($0) || listed.contains($0) }
    return kept
  }
}
