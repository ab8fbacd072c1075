import Foundation

/// What becomes of a download, response by response: whether the bytes that are there belong to what the server has.
struct DownloadState: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    /// Write the body from this position on, and drop what is in the file behind it.
    case write(at: Int64)
    /// Everything is there.
    case complete
    /// What is there belongs to something else: drop it and ask for the whole.
    case startOver
    /// The response is an error.
    case refuse
  }

  enum End: Equatable, Sendable {
    case complete
    /// The server has sent less than there is: ask for what is still missing.
    case goOn
    case fail(DownloadError)
  }

  /// What is being loaded.
  let resource: String
  private let asker: String?
  /// Whether the caller's request has a range of its own, so that a part is what it asks for.
  private let wantsPart: Bool
  /// Whether a later request can ask for the rest of the response: it is one to a GET. To another method the tag may be
  /// that of what a GET would get (RFC 9110 §8.8).
  private let isRepeatable: Bool
  /// The version that the bytes in the file belong to; `nil` when no later response can be joined to them.
  private(set) var representation: Representation?
  /// How many bytes there are in the file.
  private(set) var length: Int64 = 0
  /// The length of the whole, as far as the server has said.
  private(set) var total: Int64?
  /// Where the body that is being received ends, as far as the server has said.
  private var end: Int64?
  /// Whether the body that is being received is a part of something whose length the server does not know.
  private var isPartOfUnknown = false

  /// - Parameters:
  ///   - resource: What is being loaded.
  ///   - asker: Who asks for it, and for which of several representations.
  ///   - held: What a file that was left behind belongs to.
  ///   - length: How long it is.
  ///   - wantsPart: Whether the caller's request has a `Range` field of its own.
  ///   - isRepeatable: Whether it is a GET.
  init(
    resource: String, asker: String? = nil, held: Representation? = nil, length: Int64 = 0, wantsPart: Bool = false,
    isRepeatable: Bool = true
  ) {
    self.resource = resource
    self.asker = asker
    self.wantsPart = wantsPart
    self.isRepeatable = isRepeatable
    // A tag is of one representation alone, for every user (RFC 9110 §8.8.1); what two users get may have the same date.
    guard let held, held.resource == resource, held.condition != nil, held.asker == asker || held.entityTag != nil,
      length > 0, length <= held.total ?? .max
    else { return }
    representation = held
    total = held.total
    self.length = length
  }

  /// The header fields of a request for what is missing; none for the whole.
  var fields: [String: String] {
    guard length > 0, let condition = representation?.condition else { return [:] }
    // RFC 9110 §13.1.5: if it is another version now, the whole comes in one response.
    return ["Range": "bytes=\(length)-", "If-Range": condition]
  }

  /// Whether what is there is worth keeping when the download fails.
  var isResumable: Bool { length > 0 && representation != nil }

  /// A response to a request with ``fields`` has arrived.
  mutating func received(_ head: DownloadHead) -> Action {
    let isPart = !fields.isEmpty
    switch head.status {
    case 206 where isPart: return part(head)
    case 416 where isPart: return unsatisfiable(head)
    // RFC 9110 §15.3.7: a part is the response to a request for one. To any other it has no meaning.
    case 206 where !wantsPart && !Self.isWhole(head): return .refuse
    case 200..<300:
      representation = isRepeatable ? Representation(head, of: resource, for: asker) : nil
      total = head.isEncoded || head.status == 206 ? nil : head.contentLength
      end = total
      isPartOfUnknown = false
      length = 0
      return .write(at: 0)
    default: return .refuse
    }
  }

  /// So many bytes of the body were written.
  mutating func wrote(_ count: Int) throws(DownloadError) {
    length += Int64(count)
    if let end, length > end { throw .incomplete(received: length, announced: end) }
  }

  /// So many bytes of the last ones could not be written after all.
  mutating func failedToWrite(_ count: Int) { length -= Int64(count) }

  /// The body has ended, without an error of the transport's.
  func ended() -> End {
    if let end, length < end { return .fail(.incomplete(received: length, announced: end)) }
    // RFC 9110 §15.3.7: a server may send less than was asked for. Where it does not know the length, it says that
    // there is nothing more when it is asked.
    guard let total else { return isPartOfUnknown ? .goOn : .complete }
    return length < total ? .goOn : .complete
  }

  /// The bytes are gone.
  mutating func discarded() {
    representation = nil
    total = nil
    end = nil
    isPartOfUnknown = false
    length = 0
  }

  private mutating func part(_ head: DownloadHead) -> Action {
    guard let content = head.contentRange.flatMap({ ContentRange($0) }), let range = content.range,
      range.lowerBound == length, !head.isEncoded, representation?.includes(head) == true,
      total == nil || content.total == nil || content.total == total
    else { return .startOver }
    total = total ?? content.total
    end = range.upperBound + 1
    isPartOfUnknown = total == nil
    return .write(at: length)
  }

  private func unsatisfiable(_ head: DownloadHead) -> Action {
    // Nothing is behind what is there: it was complete, and the process ended before it was in its place.
    guard head.contentRange.flatMap({ ContentRange($0) })?.total == length, total ?? length == length
    else { return .startOver }
    return .complete
  }

  /// Whether a part is all there is.
  private static func isWhole(_ head: DownloadHead) -> Bool {
    guard let content = head.contentRange.flatMap({ ContentRange($0) }), let range = content.range else { return false }
    return range.lowerBound == 0 && content.total == range.upperBound + 1
  }
}
