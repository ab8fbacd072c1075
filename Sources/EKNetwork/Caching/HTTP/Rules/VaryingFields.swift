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

  /// Whether `Vary` has a member `*`: then no request fields can be compared.
  static func isUnmatchable(_ response: HeaderFieldList) -> Bool {
    response.values("vary").contains { FieldList.members($0).contains("*") }
  }

  /// - Parameter salt: A text that is part of the digests of secret values.
  init(response: HeaderFieldList, request: HeaderFieldList, salt: String = "") {
    var names: Set<String> = []
    for value in response.values("vary") {
      for name in FieldList.members(value) { names.insert(name.lowercased()) }
    }
    selectors = names.sorted().map { Selector(name: $0, value: Self.normalised($0, request, salt)) }
    language = selectors.isEmpty ? nil : Self.language(of: response)
  }

  init(selectors: [Selector], language: String?) {
    self.selectors = selectors
    self.language = language
  }

  /// Returns these fields for a response whose header fields a request has updated: the server may name others now.
  func updated(response: HeaderFieldList, request: HeaderFieldList, salt: String) -> VaryingFields {
    let new = VaryingFields(response: response, request: request, salt: salt)
    return new.selectors.map(\.name) == selectors.map(\.name) ? self : new
  }

  /// Returns whether a request selects this response.
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
