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
    // RFC 9112 §6.3: chunked overrides the length, which would be believed without it.
    let isChunked = fields.values("transfer-encoding").contains { FieldList.contains("chunked", in: $0) }
    if isChunked { listed.insert("content-length") }
    var kept = fields
    kept.remove { connection.contains($0) || listed.contains($0) }
    return kept
  }
}

/// The request fields that a response depends on besides its URL, as named by its `Vary` (RFC 9111 §4.1).
struct VaryingFields: Sendable, Equatable {
  struct Selector: Sendable, Equatable {
    /// In lower case.
    var name: String
    /// The normalised value; `nil` if the request had no such field.
    var value: String?
  }

  let selectors: [Selector]
  /// The language of the response, in lower case, if it has exactly one.
  let language: String?
}

extension VaryingFields {
  /// Whether `Vary` has a member `*`: then no request fields can be compared.
  static func isUnmatchable(_ response: HeaderFieldList) -> Bool {
    response.values("vary").contains { FieldList.members($0).contains("*") }
  }

  init(response: HeaderFieldList, request: HeaderFieldList, salt: String = "") {
    var names: Set<String> = []
    for value in response.values("vary") {
      for name in FieldList.members(value) { names.insert(name.lowercased()) }
    }
    selectors = names.sorted().map { Selector(name: $0, value: Self.normalised($0, request, salt)) }
    language = selectors.isEmpty ? nil : Self.language(of: response)
  }

  /// Returns these fields for a response whose header fields a request has updated: the server may name others now.
  func updated(response: HeaderFieldList, request: HeaderFieldList, salt: String) -> VaryingFields {
    let new = VaryingFields(response: response, request: request, salt: salt)
    return new.selectors.map(\.name) == selectors.map(\.name) ? self : new
  }

  func match(_ request: HeaderFieldList, salt: String = "") -> Bool {
    selectors.allSatisfy { selector in
      if Self.normalised(selector.name, request, salt) == selector.value { return true }
      // RFC 9110 §12.5.4: there is no better response for a user who gets the one language preferred to all others.
      guard selector.name == "accept-language", let language, let value = request.value("accept-language") else {
        return false
      }
      return WeightedPreferences(value).favourite == language
    }
  }

  private static func language(of response: HeaderFieldList) -> String? {
    guard let value = response.value("content-language") else { return nil }
    let members = FieldList.members(value)
    return members.count == 1 ? members[0].lowercased() : nil
  }

  /// RFC 9111 §4.1: whitespace around commas and joined lines make no difference; for languages and codings neither do
  /// order and case.
  private static func normalised(_ name: String, _ fields: HeaderFieldList, _ salt: String) -> String? {
    guard let value = fields.value(name) else { return nil }
    switch name {
    // Only ever compared, so the secret itself is not stored.
    case _ where SecretFields.contains(name): return RequestIdentity.digest(value, salt: salt)
    case "accept-language", "accept-encoding", "accept-charset": return WeightedPreferences(value).normalised
    default: return FieldList.members(value).joined(separator: ",")
    }
  }
}

/// A weighted list of a client's preferences (RFC 9110 §12.4.2): languages, content codings or character sets.
struct WeightedPreferences: Sendable {
  /// The weights are in thousandths.
  private let preferences: [(tag: String, weight: Int)]

  init(_ value: String) {
    preferences = FieldList.members(value).map { member -> (tag: String, weight: Int) in
      let parts = member.split(separator: ";").map { $0.trimmingBlanks().lowercased() }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Self.thousandths($0.dropFirst(2)) }
      return (parts.first ?? "", weight ?? 1000)
    }
    .sorted { $0.weight == $1.weight ? $0.tag < $1.tag : $0.weight > $1.weight }
  }

  /// The list in a normal form, equal for all equivalent lists.
  var normalised: String {
    preferences.map { $0.weight == 1000 ? $0.tag : "\($0.tag);q=\($0.weight)" }.joined(separator: ",")
  }

  /// The member preferred to all others; `nil` if there is none.
  var favourite: String? {
    guard let first = preferences.first, first.weight > 0, first.tag != "*" else { return nil }
    return preferences.count > 1 && preferences[1].weight == first.weight ? nil : first.tag
  }

  /// Parses a `qvalue`: 0 or 1 with up to three decimals. An invalid one counts as 0.
  private static func thousandths(_ text: Substring) -> Int {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let decimals = parts.count > 1 ? parts[1] : ""
    guard let whole = parts.first, whole == "0" || whole == "1", decimals.utf8.count <= 3,
      decimals.utf8.allSatisfy(\.isDigit)
    else { return 0 }
    let padded = decimals + String(repeating: "0", count: 3 - decimals.utf8.count)
    return min(1000, (whole == "1" ? 1000 : 0) + (Int(padded) ?? 0))
  }
}
