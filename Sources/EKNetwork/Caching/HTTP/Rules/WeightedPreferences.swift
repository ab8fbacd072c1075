/// A weighted list of a client's preferences (RFC 9110 §12.4.2): languages, content codings or character sets.
struct WeightedPreferences: Sendable {
  private struct Preference {
    var tag: String
    /// In thousandths.
    var weight: Int
  }

  private let preferences: [Preference]

  init(_ value: String) {
    preferences = FieldList.members(value).map { member in
      let parts = member.split(separator: ";").map { $0.trimmingBlanks().lowercased() }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Self.thousandths($0.dropFirst(2)) }
      return Preference(tag: parts.first ?? "", weight: weight ?? 1000)
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
      decimals.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return 0 }
    let padded = decimals + String(repeating: "0", count: 3 - decimals.utf8.count)
    return min(1000, (whole == "1" ? 1000 : 0) + (Int(padded) ?? 0))
  }
}
