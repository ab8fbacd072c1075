/// Functions for parsing header field values (RFC 9110 §5.6).
enum HTTPField {
  static func trim(_ value: some StringProtocol) -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    guard let start = value.firstIndex(where: { !isBlank($0) }), let end = value.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(value[start...end])
  }

  static func unquoted(_ value: String) -> String {
    value.count >= 2 && value.first == "\"" && value.last == "\"" ? String(value.dropFirst().dropLast()) : value
  }

  /// Returns whether a comma-separated list contains the token, which is in lowercase, in any case.
  static func list(_ value: String, contains token: String) -> Bool {
    value.split(separator: ",").contains { trim($0).lowercased() == token }
  }
}
