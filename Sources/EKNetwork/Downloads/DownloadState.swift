import Foundation

/// The state of a download, updated with each response: it decides whether the bytes in the file belong to the server's
/// current version.
struct DownloadState: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    /// Write the body from this position on, and truncate the file there.
    case write(at: Int64)
    case complete
    /// The bytes in the file belong to another version: discard them and request the whole.
    case startOver
    case refuse
  }

  enum End: Equatable, Sendable {
    case complete
    /// The server has sent only a part: request the rest.
    case requestRest
    /// The body is shorter than announced, although its framing is complete. What has arrived can be continued.
    case cutShort
    case fail(DownloadError)
  }

  let resource: String
  /// An identifier of the resource without the parameters of a signature; `nil` if it is not known.
  private let source: String?
  private let requester: String?
  private let trust: String?
  /// Whether the caller's request has a range of its own, so that a partial response is expected.
  private let wantsPart: Bool
  /// Whether a later request may ask for the rest of the response, which requires a GET. The tag in a response to
  /// another method may be that of the response to a GET (RFC 9110 §8.8).
  private let isRepeatable: Bool
  /// The version that the bytes in the file belong to; `nil` if no later response can be appended to them.
  private(set) var representation: Representation?
  private(set) var length: Int64 = 0
  private(set) var total: Int64?
  /// The position where the current body ends, if the server has sent its length, as it does for a part.
  private var end: Int64?

  init(
    resource: String, source: String? = nil, requester: String? = nil, trust: String? = nil,
    held: Representation? = nil, length: Int64 = 0, wantsPart: Bool = false, isRepeatable: Bool = true
  ) {
    self.resource = resource
    self.source = source
    self.requester = requester
    self.trust = trust
    self.wantsPart = wantsPart
    self.isRepeatable = isRepeatable
    // A strong tag identifies a single representation, for every user (RFC 9110 §8.8.1); what two users get may have
    // the same date. Neither is worth more than the server that it came from, which others may not trust.
    guard let held, held.requestedURL == resource || held.isSigned(like: source), held.condition != nil,
      held.trust == trust,
      held.requester == requester || held.entityTag != nil, length > 0, length <= held.total ?? .max
    else { return }
    representation = held
    total = held.total
    self.length = length
  }

  /// The header fields of a request for the missing part; none if the whole is missing.
  var fields: [String: String] {
    guard length > 0, let condition = representation?.condition else { return [:] }
    // RFC 9110 §13.1.5: if the version has changed, the response contains the whole.
    return ["Range": "bytes=\(length)-", "If-Range": condition]
  }

  /// Whether the bytes in the file are worth keeping if the download fails.
  var isResumable: Bool { length > 0 && representation != nil }

  /// Handles the head of a response to a request with ``fields``.
  mutating func received(_ head: DownloadHead) -> Action {
    let isPart = !fields.isEmpty
    let hasPart = head.contentRange?.isPart(ofLength: head.contentLength) == true
    switch head.status {
    case 206 where isPart: return part(head)
    case 416 where isPart: return unsatisfiable(head)
    // RFC 9110 §15.4.5, §15.5.13: a condition has failed, which some servers take `If-Range` for.
    case 304 where isPart, 412 where isPart: return .startOver
    // RFC 9110 §15.3.7: a 206 is only valid as the response to a range request.
    case 206 where !wantsPart && !Self.isWhole(head): return .refuse
    // A part under the status of the whole, which some servers send: it is not the file.
    case 200..<300 where head.status != 206 && !wantsPart && hasPart: return isPart ? .startOver : .refuse
    case 200..<300:
      representation = isRepeatable ? Representation(head, of: resource, source, for: requester, trust: trust) : nil
      total = Self.length(of: head)
      end = total
      length = 0
      return .write(at: 0)
    default: return .refuse
    }
  }

  mutating func wrote(_ count: Int) throws(DownloadError) {
    length += Int64(count)
    if let end, length > end { throw .incomplete(received: length, announced: end) }
  }

  /// Handles the end of a body that ended without a transport error.
  func ended() -> End {
    if let end, length < end {
      return representation == nil ? .fail(.incomplete(received: length, announced: end)) : .cutShort
    }
    // RFC 9110 §15.3.7: a server may send less than was requested. If it does not know the total length, a further
    // request shows that there is no more after this part; the whole ends with the body.
    guard let total else { return end == nil ? .complete : .requestRest }
    return length < total ? .requestRest : .complete
  }

  mutating func discarded() {
    representation = nil
    total = nil
    end = nil
    length = 0
  }

  private mutating func part(_ head: DownloadHead) -> Action {
    guard let content = head.contentRange, let range = content.range,
      range.lowerBound == length, !head.isEncoded, representation?.includes(head) == true,
      total == nil || content.total == nil || content.total == total, range.upperBound < total ?? .max
    else { return .startOver }
    total = total ?? content.total
    end = range.upperBound + 1
    return .write(at: length)
  }

  private func unsatisfiable(_ head: DownloadHead) -> Action {
    // RFC 9110 §15.5.17: it need not have a validator. One of another version is that of a server which ignores `If-Range`.
    var head = head
    head.entityTag = head.entityTag ?? representation?.entityTag
    // Nothing is missing: the file was complete, and the process ended before the file was moved into place.
    guard head.contentRange?.total == length, total ?? length == length, representation?.includes(head) == true
    else { return .startOver }
    return .complete
  }

  /// Returns the number of bytes that a response to a request without ``fields`` adds to the file; `nil` if it is
  /// unknown.
  private static func length(of head: DownloadHead) -> Int64? {
    // The lengths are those of the encoded body; what is written is the decoded one.
    if head.isEncoded { return nil }
    guard head.status == 206 else { return head.contentLength }
    // RFC 9110 §14.4: the body is exactly this range. The end of a chunked one does not show that all of it was sent.
    return head.contentRange?.range.map { $0.upperBound - $0.lowerBound + 1 }
  }

  private static func isWhole(_ head: DownloadHead) -> Bool {
    guard let content = head.contentRange, let range = content.range else { return false }
    return range.lowerBound == 0 && content.total == range.upperBound + 1
  }
}

/// The properties of a response head that a download needs.
struct DownloadHead: Equatable, Sendable {
  var status: Int
  /// A digest of the URL that responded: ``DownloadSource``.
  var respondingURL: String?
  var entityTag: String?
  var lastModified: String?
  var date: String?
  var contentRange: ContentRange?
  var contentLength: Int64?
  var isEncoded = false
  var acceptsRanges = true

  init(status: Int) { self.status = status }

  init(_ head: ResponseHead, status: Int) {
    self.status = status
    respondingURL = head.url.map { DownloadSource.digest(of: $0) }
    // Of a field with different values none counts: nothing is then appended to a file.
    entityTag = head.hint("etag")
    lastModified = head.hint("last-modified")
    date = head.hint("date")
    contentRange = head.hint("content-range").flatMap { ContentRange($0) }
    // RFC 9112 §6.3: a 204 has no body, whatever `Content-Length` it has.
    contentLength = status == 204 ? nil : head.contentLength
    isEncoded = !ContentCoding.names(head.value("content-encoding")).isEmpty
    acceptsRanges = head.value("accept-ranges")?.lowercased() != "none"
  }

  /// The entity tag, if it is strong. RFC 9110 §8.8.3: `W/` marks a tag that versions with different bytes may share.
  var strongEntityTag: String? {
    entityTag.flatMap { $0.hasPrefix("\"") && $0.hasSuffix("\"") && $0.utf8.count >= 2 ? $0 : nil }
  }

  /// The modification date, if it is strong. RFC 9110 §8.8.2.2: since it is in whole seconds, it must be earlier than
  /// the second of the response. A minute allows for clocks that differ.
  var strongLastModified: String? {
    guard let lastModified, let date, let modified = HTTPDate.parse(lastModified, now: Date()),
      let sent = HTTPDate.parse(date, now: Date())
    else { return nil }
    return sent.timeIntervalSince(modified) >= 60 ? lastModified : nil
  }
}
