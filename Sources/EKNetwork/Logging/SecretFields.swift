/// The header fields whose values are shown only if secrets are revealed.
enum SecretFields {
  /// Words in the names of fields with credentials, in addition to the fields of ``OriginFields``. Hiding a harmless
  /// value as well does no harm.
  private static let words = ["token", "secret", "key", "password", "auth", "session", "signature", "cookie"]

  static func contains(_ name: String) -> Bool {
    let name = name.lowercased()
    return words.contains(where: name.contains) || OriginFields.contains(name) && name != "host"
  }
}
