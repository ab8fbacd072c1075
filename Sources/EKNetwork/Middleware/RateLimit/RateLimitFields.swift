import Foundation

/// A parser for the header fields in which servers report what is left of a quota: `RateLimit` with `RateLimit-Policy`
/// of draft-ietf-httpapi-ratelimit-headers, the fields of its earlier versions, and the older `X-RateLimit-` fields.
/// Malformed values are ignored.
enum RateLimitFields {
  private typealias Quota = RateLimitReport.Quota
  private typealias Member = (name: String, parameters: [String: String])

  static func quotas(now: Date, field: (String) -> String?) -> [RateLimitReport.Quota] {
    if let value = field("RateLimit") {
      return combined(value) ?? items(value, policies: field("RateLimit-Policy"))
    }
    if let quota = separate("RateLimit-", field, reset: { DeltaSeconds.parse($0).map { .seconds($0) } }) {
      return [quota]
    }
    return separate("X-RateLimit-", field, reset: { time($0, now: now) }).map { [$0] } ?? []
  }

  /// `"burst";r=3;t=10, "day";r=900;t=36000`
  private static func items(_ value: String, policies: String?) -> [Quota] {
    var known: [String: [String: String]] = [:]
    for (name, parameters) in list(policies ?? "") ?? [] { known[name] = parameters }
    return (list(value) ?? []).compactMap { name, parameters in
      let policy = known[name] ?? [:]
      // Quotas of bytes and of concurrent requests are not counted here.
      guard unquoted(policy["qu"] ?? "requests") == "requests" else { return nil }
      guard let remaining = parameters["r"].flatMap(DeltaSeconds.parse) else { return nil }
      // The window is the longest that a reset can take.
      let reset = (parameters["t"] ?? policy["w"]).flatMap(DeltaSeconds.parse)
      return Quota(
        name: name, remaining: Int(clamping: remaining), reset: reset.map { .seconds($0) },
        limit: policy["q"].flatMap(DeltaSeconds.parse).map { Int(clamping: $0) })
    }
  }

  /// `limit=100, remaining=3, reset=10`, as in the draft until version 7.
  private static func combined(_ value: String) -> [Quota]? {
    var values: [Substring: Int64] = [:]
    for member in FieldList.members(value) {
      let pair = member.split(separator: "=", maxSplits: 1)
      if pair.count == 2 { values[pair[0]] = DeltaSeconds.parse(pair[1]) }
    }
    guard let remaining = values["remaining"] else { return nil }
    return [
      Quota(
        remaining: Int(clamping: remaining), reset: values["reset"].map { .seconds($0) },
        limit: values["limit"].map { Int(clamping: $0) })
    ]
  }

  /// Parses a quota with a separate field for each number.
  private static func separate(
    _ prefix: String, _ field: (String) -> String?, reset: (String) -> Duration?
  ) -> Quota? {
    guard let remaining = field(prefix + "Remaining").flatMap({ number($0) }) else { return nil }
    return Quota(
      remaining: remaining, reset: field(prefix + "Reset").flatMap { reset(String($0[...].trimmingBlanks())) },
      limit: field(prefix + "Limit").flatMap { number($0) })
  }

  /// Parses the number before the other members of a list, or the parameters of an item.
  private static func number(_ value: String) -> Int? {
    let first = value.prefix { $0 != "," && $0 != ";" }
    return DeltaSeconds.parse(first.trimmingBlanks()).map { Int(clamping: $0) }
  }

  /// Parses `X-RateLimit-Reset`, which has no specification: seconds from now, seconds since 1970, or milliseconds
  /// since 1970.
  private static func time(_ value: String, now: Date) -> Duration? {
    guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let number = Double(value) else {
      return nil
    }
    let since1970 = number >= 1e12 ? number / 1000 : number
    guard number >= 1e9 else { return .clamped(seconds: number) }
    return .clamped(seconds: since1970 - now.timeIntervalSince1970)
  }

  // MARK: - Structured fields (RFC 9651)

  /// Parses a list of items with parameters; returns `nil` if one of them is invalid, because the whole field is
  /// ignored then (§4.2).
  private static func list(_ value: String) -> [Member]? {
    var members: [Member] = []
    for text in FieldList.members(value) {
      guard let member = member(text) else { return nil }
      members.append(member)
    }
    return members
  }

  private static func member(_ text: Substring) -> Member? {
    var parts: [Substring] = []
    var start = text.startIndex
    var isQuoted = false
    var isEscaped = false
    for index in text.indices {
      let character = text[index]
      if isEscaped {
        isEscaped = false
      } else if character == "\\", isQuoted {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == ";", !isQuoted {
        parts.append(text[start..<index])
        start = text.index(after: index)
      }
    }
    guard !isQuoted else { return nil }
    parts.append(text[start...])
    var parameters: [String: String] = [:]
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = pair[0].trimmingBlanks()
      guard !name.isEmpty else { return nil }
      parameters[String(name)] = pair.count == 2 ? String(pair[1].trimmingBlanks()) : ""
    }
    guard let name = parts.first?.trimmingBlanks(), !name.isEmpty else { return nil }
    return (unquoted(String(name)), parameters)
  }

  private static func unquoted(_ text: String) -> String {
    text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
  }
}
