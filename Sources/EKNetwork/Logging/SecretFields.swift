/// The header fields whose values are shown only where secrets were asked for.
enum SecretFields {
  /// What the names of fields with credentials contain, beside those of ``OriginFields``. A harmless value that is
  /// hidden with them is no loss.
  private static let words = ["token", "secret", "key", "password", "auth", "session", "signature", "cookie"]

  static func contains(_ name: String) -> Bool {
    let name = name.lowercased()
    return words.contains(where: name.contains) || OriginFields.contains(name) && name != "host"
  }
}
