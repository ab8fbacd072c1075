/// The directives of a `Cache-Control` field (RFC 9111 §5.2), of a request or a response.
struct CacheDirectives: Sendable, Equatable {
  var noStore = false
  var noCache = false
  /// The field names of a qualified `no-cache="…"` (§5.2.2.4), in lower case.
  var noCacheFields: [String] = []
  /// In seconds; 0 for an invalid number, which means stale (§4.2.1).
  var maxAge: Int64?
  // Response directives.
  var isPublic = false
  var isPrivate = false
  var mustRevalidate = false
  var mustUnderstand = false
  /// RFC 8246.
  var isImmutable = false
  /// RFC 5861 §3.
  var staleWhileRevalidate: Int64?
  /// RFC 5861 §4, in requests as well as in responses.
  var staleIfError: Int64?
  // Request directives.
  /// How stale a response may be, in seconds; ``DeltaSeconds/greatest`` for any.
  var maxStale: Int64?
  var minFresh: Int64?
  var onlyIfCached = false

  /// Whether the response may be used for other users as well. Of two contradicting directives, such as a server's
  /// `private` and a proxy's `public`, the stricter applies (§4.2.1).
  var isShareable: Bool { isPublic && !isPrivate }

  init() {}

  /// Whether the fields of a response forbid that it is stored at all (§5.2.2.5, §4.1).
  static func forbidStorage(_ cacheControl: String?, vary: String?) -> Bool {
    CacheDirectives(cacheControl).noStore || FieldList.contains("*", in: vary ?? "")
  }

  /// Parses a field value, which may be several lines that were joined.
  init(_ value: String?) { self.init(value.map { [$0] } ?? []) }

  /// Parses the lines of a field, each on its own: a quoted string that one of them leaves open does not continue in the
  /// next. Of a repeated directive the first occurrence counts (§4.2.1). Unknown directives are ignored (§5.2.3).
  init(_ lines: [String]) {
    var seen: Set<String> = []
    for (member, isValid) in lines.flatMap(Self.members) {
      let name = member.prefix { HeaderSyntax.token.contains($0.asciiValue ?? 0) }
      let rest = member[name.endIndex...]
      let directive = name.lowercased()
      // A second no-cache may add to the first: one with field names does not exclude one without.
      guard directive == "no-cache" || seen.insert(directive).inserted else { continue }
      if isValid, rest.isEmpty || rest.first == "=" {
        // §5.2: recipients accept both forms of an argument, token and quoted string.
        apply(directive, rest.isEmpty ? nil : rest.dropFirst().unquoted())
      } else if Self.restricting.contains(directive) {
        // Invalid, as in "max-age =60" or "no-store; private": what was forbidden stays so, and a time is no time (§4.2.1).
        apply(directive, nil)
      }
    }
  }

  /// Returns the members of a line. One with commas that are not in its argument is split once more, as invalid: it may be
  /// lines that were joined, of which some leave a quote open, and others forbid something.
  private static func members(_ line: String) -> [(Substring, isValid: Bool)] {
    FieldList.members(line).flatMap { member in
      member.contains(",") && !hasQuotedArgument(member)
        ? member.split(separator: ",").map { ($0.trimmingBlanks(), false) } : [(member, true)]
    }
  }

  /// Returns whether all that follows the name of a directive is one quoted string (RFC 9110 §5.6.4).
  private static func hasQuotedArgument(_ member: Substring) -> Bool {
    var rest = member.utf8.drop { HeaderSyntax.token.contains($0) }
    guard rest.popFirst() == UInt8(ascii: "="), rest.popFirst() == UInt8(ascii: "\"") else { return false }
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return rest.isEmpty }
      if byte == UInt8(ascii: "\\") { _ = rest.popFirst() }
    }
    return false
  }

  /// The directives that count although what follows their names is invalid.
  private static let restricting: Set<String> = ["no-store", "no-cache", "private", "must-revalidate", "max-age"]

  private mutating func apply(_ name: String, _ argument: String?) {
    let seconds = argument.flatMap { DeltaSeconds.parse($0) }
    switch name {
    case "no-store": noStore = true
    case "no-cache":
      let names = FieldList.members(argument ?? "")
      noCacheFields += names.map { $0.lowercased() }
      // An argument without names is invalid, and means all fields.
      if names.isEmpty { noCache = true }
    case "max-age": maxAge = seconds ?? 0
    case "public": isPublic = true
    case "private": isPrivate = true
    // A private cache ignores s-maxage and proxy-revalidate (§5.2.2.8, §5.2.2.10).
    case "must-revalidate": mustRevalidate = true
    case "must-understand": mustUnderstand = true
    case "immutable": isImmutable = true
    case "stale-while-revalidate": staleWhileRevalidate = seconds
    case "stale-if-error": staleIfError = seconds
    // §5.2.1.2: without a value, any staleness is accepted.
    case "max-stale": maxStale = argument == nil ? DeltaSeconds.greatest : seconds
    case "min-fresh": minFresh = seconds
    case "only-if-cached": onlyIfCached = true
    default: break
    }
  }
}
