import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
      fingerprints: isOwn ? entry.request.fingerprints ?? [:] : HARRequest.fingerprints(fields, redaction),
      body: try HARRequestBody(entry.request, redaction: redaction))

    let failure =
      entry.response.error ?? entry.response.failureText ?? (entry.wasAborted == true ? "aborted" : nil)
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

  private static func body(
    _ entry: HARFile.Entry
  ) throws(HARFile.EntryFailure) -> (pieces: [Data], isComplete: Bool) {
    let size = entry.response.content?.size ?? 0
    guard let content = entry.response.content, let text = content.text else {
      let status = entry.response.status
      let hasNone = entry.request.method == "HEAD" || status == 204 || status == 304
      // A size of -1 is unknown. A file may state that of the content, that of the body, or neither.
      return ([], hasNone || size == 0 && entry.response.bodySize ?? 0 <= 0)
    }
    let data = try HARFile.bytes(text, encoding: content.encoding, of: "response.content")
    let isComplete = content.isTruncated != true
    guard !data.isEmpty else { return ([], isComplete) }
    var pieces: [Data] = []
    var rest = data[...]
    for size in content.pieces ?? [] {
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
    if body.digest != nil || body.isOmitted == true || body.text == nil {
      self.init(type: type, size: size, digest: body.digest)
    } else {
      let data = try HARFile.bytes(body.text ?? "", encoding: body.encoding, of: "request.postData")
      guard !data.isEmpty else { return nil }
      self.init(data, type: type, redaction: redaction)
    }
  }
}

extension HARFile {
  /// The reason why an entry is invalid.
  struct EntryFailure: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  fileprivate static func bytes(
    _ text: String, encoding: String?, of place: String
  ) throws(EntryFailure) -> Data {
    guard encoding?.lowercased() == "base64" else { return Data(text.utf8) }
    // RFC 4648 §3.1: some tools insert line breaks nevertheless.
    guard let data = Data(base64Encoded: text) ?? Data(base64Encoded: text.filter { !$0.isNewline }) else {
      throw EntryFailure("\(place) is not base64")
    }
    return data
  }
}
