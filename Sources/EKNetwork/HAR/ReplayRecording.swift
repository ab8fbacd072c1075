import Foundation

/// A recording, and which of its responses have been used. Decides which response a request gets: one that was recorded
/// for a matching request, each only once.
struct ReplayRecording {
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

  var unused: [String] { entries.indices.filter { !isUsed[$0] }.map { entries[$0].request.line } }

  func contains(url: String) -> Bool { urls.contains(url) }

  mutating func next(_ request: HARRequest) throws(ReplaySession.UnexpectedRequest) -> ReplayEntry {
    var candidates = places[request.line] ?? []
    guard !candidates.isEmpty else { throw unexpected(request, .notRecorded) }
    candidates.removeAll { !HARRequestBody.isSame(entries[$0].request.body, request.body) }
    guard !candidates.isEmpty else { throw unexpected(request, .otherBody) }
    for name in Self.conditions {
      candidates.removeAll { entries[$0].request.fields.value(name) != request.fields.value(name) }
    }
    guard !candidates.isEmpty else { throw unexpected(request, .otherFields) }
    narrowByFields(&candidates, request)
    narrowBySecrets(&candidates, request)
    guard !candidates.isEmpty else { throw unexpected(request, .otherCredentials) }
    guard let index = candidates.first(where: { !isUsed[$0] }) else { throw unexpected(request, .usedUp) }
    isUsed[index] = true
    for name in knownSecrets.keys {
      let recorded = entries[index].request.fingerprints[name] ?? ""
      if owners[name]?[recorded] == nil {
        owners[name, default: [:]][recorded] = request.fingerprints[name] ?? ""
      }
    }
    return entries[index]
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

  private func unexpected(
    _ request: HARRequest, _ reason: ReplaySession.UnexpectedRequest.Reason
  ) -> ReplaySession.UnexpectedRequest {
    let recorded = entries.indices.map { entries[$0].request.line + (isUsed[$0] ? " (used)" : "") }
    return ReplaySession.UnexpectedRequest(request: request.line, reason: reason, recorded: recorded)
  }
}

/// A recorded request and the response to it when it is replayed.
struct ReplayEntry: Sendable {
  struct Response: Sendable {
    var status: Int
    var reason: String
    var fields: HeaderFieldList
    var pieces: [Data]
    /// The error after the chunks, instead of the end.
    var failure: (any Error)?
  }

  var request: HARRequest
  var response: Result<Response, any Error>
}

extension ReplayEntry {
  /// Creates an entry from that of a file. Invalid header fields, such as `:status`, are left out.
  init(_ entry: HARFile.Entry, redaction: HARRedaction, isOwn: Bool) throws(HARFile.EntryFailure) {
    guard let url = ServerURL.resolve(entry.request.url) else { throw .init("request.url is not an absolute URL") }
    let fields = Self.fields(entry.request.headers)
    request = HARRequest(
      method: entry.request.method, url: redaction.url(url), fields: fields,
      fingerprints: isOwn ? entry.request._fingerprints ?? [:] : HARRequest.fingerprints(fields, redaction),
      body: try HARRequestBody(entry.request, redaction: redaction))

    let failure =
      entry.response._error ?? entry.response._failureText ?? (entry._wasAborted == true ? "aborted" : nil)
    let error = failure.map { ReplaySession.Failure.error(named: $0) }
    let status = entry.response.status ?? 0
    guard status >= 200 else {
      let text = status <= 0 ? "no response" : "status \(status), which is not a final one"
      response = .failure(error ?? ReplaySession.Failure.recorded(text))
      return
    }
    let responseFields = Self.fields(entry.response.headers)
    let reason = entry.response.statusText?.value.flatMap { HeaderSyntax.trimmedValue($0) } ?? ""
    // The status line has room for three digits (RFC 9112 §4).
    guard status < 1000,
      ResponseHead.make(status: status, reason: reason, fields: responseFields, url: url) != nil
    else { throw .init("response.status is none") }
    let content = try Self.body(entry)
    let incomplete = content.isComplete ? nil : ReplaySession.Failure.incompleteBody(request.line)
    response = .success(
      Response(
        status: status, reason: reason, fields: responseFields, pieces: content.pieces, failure: error ?? incomplete))
  }

  private static func fields(_ headers: [HARFile.Field]?) -> HeaderFieldList {
    var fields = HeaderFieldList()
    for field in headers ?? [] {
      guard let name = field.name?.value, HeaderSyntax.isToken(name), let value = field.value?.value else { continue }
      // Browsers write repeated fields as lines of one value.
      for line in value.split(separator: "\n", omittingEmptySubsequences: false) {
        if let value = HeaderSyntax.trimmedValue(String(line)) { fields.append(name, value) }
      }
    }
    return fields
  }

  private static func body(_ entry: HARFile.Entry) throws(HARFile.EntryFailure) -> (pieces: [Data], isComplete: Bool) {
    let size = entry.response.content?.size ?? 0
    guard let content = entry.response.content, let text = content.text else {
      let status = entry.response.status
      let hasNone = entry.request.method == "HEAD" || status == 204 || status == 304
      // A size of -1 is unknown. A file may state that of the content, that of the body, or neither.
      return ([], hasNone || size == 0 && entry.response.bodySize ?? 0 <= 0)
    }
    let data = try HARFile.bytes(text, encoding: content.encoding, of: "response.content")
    let isComplete = content._truncated != true
    guard !data.isEmpty else { return ([], isComplete) }
    var pieces: [Data] = []
    var rest = data[...]
    for size in content._pieces ?? [] {
      guard (0...rest.count).contains(size) else { throw .init("response.content._pieces are not those of the text") }
      if size > 0 { pieces.append(Data(rest.prefix(size))) }
      rest = rest.dropFirst(size)
    }
    if !rest.isEmpty { pieces.append(pieces.isEmpty ? data : Data(rest)) }
    return (pieces, isComplete)
  }
}

extension HARRequestBody {
  fileprivate init?(_ request: HARFile.Request, redaction: HARRedaction) throws(HARFile.EntryFailure) {
    let size = request.bodySize.flatMap { Int64(exactly: $0) }.flatMap { $0 < 0 ? nil : $0 }
    guard let body = request.postData else {
      // Some tools record only its size.
      guard let size, size > 0 else { return nil }
      self.init(type: "", size: size, digest: nil)
      return
    }
    let type = body.mimeType ?? ""
    if body._digest != nil || body._omitted == true || body.text == nil {
      self.init(type: type, size: size, digest: body._digest)
    } else {
      let data = try HARFile.bytes(body.text ?? "", encoding: body._encoding, of: "request.postData")
      guard !data.isEmpty else { return nil }
      self.init(data, type: type, redaction: redaction)
    }
  }
}

extension HARFile {
  struct EntryFailure: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  fileprivate static func bytes(_ text: String, encoding: String?, of place: String) throws(EntryFailure) -> Data {
    guard encoding?.lowercased() == "base64" else { return Data(text.utf8) }
    // RFC 4648 §3.1: some tools insert line breaks nevertheless.
    guard let data = Data(base64Encoded: text) ?? Data(base64Encoded: text.filter { !$0.isNewline }) else {
      throw EntryFailure("\(place) is not base64")
    }
    return data
  }
}
