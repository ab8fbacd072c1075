/// A challenge of a server (RFC 9110 §11.3): a scheme and its parameters.
struct AuthenticationChallenge: Equatable {
  /// The scheme in lower case.
  let scheme: String
  /// The parameters, with names in lower case.
  private(set) var parameters: [String: String] = [:]
  /// Whether a parameter is repeated, so that it is unknown which one is meant.
  private(set) var isAmbiguous = false

  /// A server may offer several schemes, and no more than a few make sense.
  private static let maximumCount = 16

  /// Returns the challenges of a `WWW-Authenticate` field (§11.6.1). Its commas separate challenges as well as their parameters.
  static func all(in field: String) -> [AuthenticationChallenge] {
    var challenges: [AuthenticationChallenge] = []
    for member in FieldList.members(field) {
      let name = member.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
      guard HeaderSyntax.isToken(String(name)) else { continue }
      let rest = member.dropFirst(name.count).trimmingBlanks()
      if rest.first == "=", !challenges.isEmpty {
        challenges[challenges.count - 1].add(name, rest.dropFirst())
        continue
      }
      guard challenges.count < maximumCount else { break }
      challenges.append(AuthenticationChallenge(scheme: name.lowercased()))
      // What is no parameter is a token68, which none of the schemes here has.
      guard let equals = rest.firstIndex(of: "=") else { continue }
      challenges[challenges.count - 1].add(rest[..<equals], rest[rest.index(after: equals)...])
    }
    return challenges
  }

  init(scheme: String) { self.scheme = scheme }

  private mutating func add(_ name: Substring, _ value: Substring) {
    let name = name.trimmingBlanks().lowercased()
    let value = Self.unquoted(value.trimmingBlanks())
    if parameters.updateValue(value, forKey: name) != nil { isAmbiguous = true }
  }

  /// Returns the text of a quoted string (RFC 9110 §5.6.4), or a token as it is.
  private static func unquoted(_ value: Substring) -> String {
    guard value.count >= 2, value.first == "\"", value.last == "\"" else { return String(value) }
    var (text, isEscaped) = ("", false)
    for character in value.dropFirst().dropLast() {
      isEscaped = character == "\\" && !isEscaped
      if !isEscaped { text.append(character) }
    }
    return text
  }
}
