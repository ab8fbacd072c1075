/// What a response depends on besides its URL (RFC 9111 §4.1): the request's fields that its `Vary` names.
struct VaryingFields: Sendable, Equatable {
  struct Selector: Sendable, Equatable {
    /// In lower case.
    var name: String
    /// Normalised; `nil` when the request had no such field.
    var value: String?
  }

  let selectors: [Selector]
  /// The language of the response, in lower case, if it has exactly one.
  let language: String?

  /// Whether `Vary` has a member `*`: then nothing that the cache could compare decides.
  static func isUnmatchable(_ response: CacheFields) -> Bool {
    response.values("vary").contains { FieldList.members($0).contains("*") }
  }

  init(response: CacheFields, request: CacheFields) {
    var names: Set<String> = []
    for value in response.values("vary") {
      for name in FieldList.members(value) { names.insert(name.lowercased()) }
    }
    selectors = names.sorted().map { Selector(name: $0, value: Self.normalised($0, request)) }
    language = selectors.isEmpty ? nil : Self.language(of: response)
  }

  init(selectors: [Selector], language: String?) {
    self.selectors = selectors
    self.language = language
  }

  /// Whether a request selects this response.
  func match(_ request: CacheFields) -> Bool {
    selectors.allSatisfy { selector in
      if Self.normalised(selector.name, request) == selector.value { return true }
      // RFC 9110 §12.5.4: who gets the one language that he prefers to all others can get nothing better.
      guard selector.name == "accept-language", let language, let value = request.value("accept-language") else {
        return false
      }
      return WeightedPreferences(value).favourite == language
    }
  }

  private static func language(of response: CacheFields) -> String? {
    guard let value = response.value("content-language") else { return nil }
    let members = FieldList.members(value)
    return members.count == 1 ? members[0].lowercased() : nil
  }

  /// RFC 9111 §4.1: blanks around commas, and lines that were joined, change nothing; of languages and codings neither
  /// do their order and case.
  private static func normalised(_ name: String, _ fields: CacheFields) -> String? {
    guard let value = fields.value(name) else { return nil }
    switch name {
    // Compared, never read: what is secret is not kept.
    case "cookie", "authorization", "proxy-authorization": return CacheIdentity.digest(value)
    case "accept-language", "accept-encoding", "accept-charset": return WeightedPreferences(value).normalised
    default: return FieldList.members(value).joined(separator: ",")
    }
  }
}
