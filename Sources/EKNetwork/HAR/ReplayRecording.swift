/// A recording, and which of its responses have been used. Decides which response a request gets: one that was recorded
/// for a matching request, each only once.
struct ReplayRecording {
  enum Outcome {
    case entry(ReplayEntry)
    case unexpected(ReplaySession.UnexpectedRequest)
  }

  /// Fields that determine the response: they are compared although they do not identify the client.
  private static let conditions = [
    "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
  ]
  private static let preferences: Set<String> = ["accept", "accept-language"]

  private let entries: [ReplayEntry]
  private let places: [String: [Int]]
  private let urls: Set<String>
  /// The fingerprints in the recording, by the name of the field, and an empty string for a missing field: a request
  /// without credentials never gets a response to one with them.
  private let knownSecrets: [String: Set<String>]
  private var isUsed: [Bool]
  /// The secret of the replay that was matched to each recorded secret, by the name of the field: the two usually
  /// differ.
  private var owners: [String: [String: String]] = [:]

  init(_ entries: [ReplayEntry]) {
    self.entries = entries
    places = Dictionary(grouping: entries.indices) { entries[$0].request.line }
    urls = Set(entries.map(\.request.url))
    // Only the fields of each request: all names times all requests would take too long.
    var known: [String: Set<String>] = [:]
    for entry in entries {
      for (name, secret) in entry.request.fingerprints { known[name, default: [""]].insert(secret) }
    }
    knownSecrets = known
    isUsed = entries.map { _ in false }
  }

  /// The requests that have not been made, in order.
  var unused: [String] { entries.indices.filter { !isUsed[$0] }.map { entries[$0].request.line } }

  func contains(url: String) -> Bool { urls.contains(url) }

  /// Returns the next response that was recorded for a matching request.
  mutating func next(_ request: HARRequest) -> Outcome {
    var candidates = places[request.line] ?? []
    guard !candidates.isEmpty else { return unexpected(request, .notRecorded) }
    candidates.removeAll { !HARRequestBody.isSame(entries[$0].request.body, request.body) }
    guard !candidates.isEmpty else { return unexpected(request, .otherBody) }
    for name in Self.conditions {
      candidates.removeAll { entries[$0].request.fields.value(name) != request.fields.value(name) }
    }
    guard !candidates.isEmpty else { return unexpected(request, .otherFields) }
    narrowByFields(&candidates, request)
    narrowBySecrets(&candidates, request)
    guard !candidates.isEmpty else { return unexpected(request, .otherCredentials) }
    guard let index = candidates.first(where: { !isUsed[$0] }) else { return unexpected(request, .usedUp) }
    isUsed[index] = true
    for name in knownSecrets.keys {
      let recorded = entries[index].request.fingerprints[name] ?? ""
      if owners[name]?[recorded] == nil {
        owners[name, default: [:]][recorded] = request.fingerprints[name] ?? ""
      }
    }
    return .entry(entries[index])
  }

  /// Keeps only candidates with the same value of a field, if there are any. A value that was never recorded, such as a
  /// time, is ignored.
  private func narrowByFields(_ candidates: inout [Int], _ request: HARRequest) {
    var names = Self.names(request)
    for index in candidates { names.formUnion(Self.names(entries[index].request)) }
    for name in names.sorted() {
      let value = request.fields.value(name)
      let same = candidates.filter { entries[$0].request.fields.value(name) == value }
      if !same.isEmpty { candidates = same }
    }
  }

  private static func names(_ request: HARRequest) -> Set<String> {
    Set(
      request.fields.fields.lazy.map { $0.name.lowercased() }.filter {
        preferences.contains($0) || !RequestIdentity.neutral.contains($0) && !SecretFields.contains($0)
      })
  }

  /// Keeps only candidates with a matching secret. A secret that was recorded matches itself. Any other matches the
  /// secret of the first response that it gets, and secrets that no other has been matched to: a renewed token is two
  /// secrets.
  private func narrowBySecrets(_ candidates: inout [Int], _ request: HARRequest) {
    for (name, known) in knownSecrets.sorted(by: { $0.key < $1.key }) {
      let secret = request.fingerprints[name] ?? ""
      // Cookies depend on their storage, which a replay does not have.
      if name == "cookie", secret.isEmpty { continue }
      let isKnown = known.contains(secret)
      candidates.removeAll { index in
        let recorded = entries[index].request.fingerprints[name] ?? ""
        if isKnown { return recorded != secret }
        return recorded.isEmpty || owners[name]?[recorded] ?? secret != secret
      }
    }
  }

  private func unexpected(_ request: HARRequest, _ reason: ReplaySession.UnexpectedRequest.Reason) -> Outcome {
    let recorded = entries.indices.map { entries[$0].request.line + (isUsed[$0] ? " (used)" : "") }
    return .unexpected(
      ReplaySession.UnexpectedRequest(request: request.line, reason: reason, recorded: recorded))
  }
}
