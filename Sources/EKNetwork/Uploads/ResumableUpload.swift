import Foundation

/// A part of a file.
struct UploadPart: Equatable, Sendable {
  var offset: Int64
  var length: Int64
  var isLast: Bool

  var end: Int64 { offset + length }
}

/// The state of an upload, updated with each response: it decides which request is next. It is the protocol, without any
/// input or output.
///
/// It never asks for more than a bounded number of requests that do not advance the offset.
struct ResumableUpload: Equatable, Sendable {
  typealias Kind = UploadOptions.ResumptionProtocol

  enum Action: Equatable, Sendable {
    case create
    case requestOffset
    case append(UploadPart)
    case complete
    /// The response is an error; a final one is about the file, which was uploaded completely.
    case refuse(isFinal: Bool)
    case fail(UploadError)
  }

  /// How often the server may lose the upload. Each time, a new one is created.
  static let maximumLosses = 3
  /// The number of requests in succession that may fail to advance the offset.
  static let maximumIdleRequests = 3

  let kind: Kind
  let size: Int64
  private let destination: URL
  private let chunkSize: Int64
  private(set) var resource: UploadResource?
  /// The greatest offset that the server has acknowledged.
  private(set) var acknowledged: Int64 = 0
  private var limits = UploadLimits()
  private var request = Action.create
  private var losses = 0
  private var idleRequests = 0
  private var hasAdvanced = false
  /// Whether the server may have received the whole file, although it has not said so.
  private var mayHaveArrived: Bool

  /// - Parameters:
  ///   - resource: The upload of an earlier call.
  ///   - mayBeComplete: Whether that call may have completed it.
  init(
    _ kind: Kind, to destination: URL, size: Int64, chunkSize: Int64? = nil, resource: UploadResource? = nil,
    mayBeComplete: Bool = false
  ) {
    self.kind = kind
    self.destination = destination
    self.size = size
    self.chunkSize = max(1, chunkSize ?? .max)
    self.resource = resource
    mayHaveArrived = mayBeComplete
  }

  /// Whether the server may have completed the upload, which it then need not know any longer.
  var mayBeComplete: Bool { mayHaveArrived || acknowledged == size && size > 0 }

  /// Returns the first request of an attempt. It must ask for the offset if there was an attempt before: the server may
  /// have received less, or more, than it has acknowledged.
  mutating func begin() -> Action {
    idleRequests = 0
    return send(resource == nil ? .create : .requestOffset)
  }

  /// Returns whether the server has acknowledged bytes since this was last asked.
  mutating func takeAdvance() -> Bool { exchange(&hasAdvanced, with: false) }

  /// Records that a request has ended without a response.
  ///
  /// - Parameter sent: The number of bytes of its body that were sent; `nil` if it is unknown.
  mutating func interrupted(sent: Int64?) {
    if case .append(let part) = request, part.isLast, sent ?? part.length >= part.length { mayHaveArrived = true }
  }

  mutating func received(_ head: UploadHead) -> Action {
    limits.update(head.limits)
    switch request {
    case .create: return created(head)
    case .requestOffset: return offset(head)
    case .append(let part): return appended(part, head)
    case .complete, .refuse, .fail: return request
    }
  }

  /// Draft §4.2; tus, "Creation".
  private mutating func created(_ head: UploadHead) -> Action {
    guard StatusCodes.successful.contains(head.status) else { return refusal(head, of: size) }
    if head.isComplete == true { return .fail(.lengthMismatch(announced: 0, size: size)) }
    guard let created = UploadResource(head, requested: destination) else {
      return .fail(.invalidLocation(head.location))
    }
    if let maximum = limits.maximumSize, maximum < size { return .fail(.tooLarge(size: size, maximum: maximum)) }
    resource = created
    return next()
  }

  /// Draft §4.3; tus, "HEAD".
  private mutating func offset(_ head: UploadHead) -> Action {
    guard StatusCodes.successful.contains(head.status) else {
      return isLoss(head.status) ? lost() : refusal(head, of: size)
    }
    if let length = head.length, length != size { return .fail(.lengthMismatch(announced: length, size: size)) }
    guard let offset = head.offset else { return .fail(.missingOffset) }
    // Draft §4.3: more than was sent is possible, if the server has obtained it elsewhere; it cannot be more than there is.
    if let error = acknowledge(offset, upTo: size) { return .fail(error) }
    mayHaveArrived = false
    if kind == .draft, head.isComplete == true {
      return offset == size ? .complete : .fail(.lengthMismatch(announced: offset, size: size))
    }
    return next()
  }

  /// Draft §4.4; tus, "PATCH".
  private mutating func appended(_ part: UploadPart, _ head: UploadHead) -> Action {
    if kind == .draft, head.isComplete == true {
      guard part.isLast, head.offset ?? size == size else {
        return .fail(.lengthMismatch(announced: head.offset ?? part.end, size: size))
      }
      acknowledged = size
      // §4.4.1: an error is then that of processing the whole file, which resuming does not resolve.
      return StatusCodes.successful.contains(head.status) ? .complete : .refuse(isFinal: true)
    }
    guard StatusCodes.successful.contains(head.status) else { return notAppended(part, head) }
    let stalled = Action.fail(.noProgress(offset: acknowledged))
    if kind == .draft {
      // §4.4.2: a response to the last part says that the upload is complete. To another one, it need not have an offset.
      let isUnclear = head.isComplete == nil || part.isLast && head.offset == nil
      if isUnclear {
        // An intermediary may have removed the field that says so, or the response be that of a redirect's target.
        if part.isLast, head.isComplete == nil { mayHaveArrived = true }
        return idle(send(.requestOffset)) ?? stalled
      }
    } else if head.offset == nil {
      return .fail(.missingOffset)
    }
    if let error = acknowledge(head.offset ?? part.end, upTo: part.end) { return .fail(error) }
    if acknowledged == part.offset { return idle(send(.requestOffset)) ?? stalled }
    return next()
  }

  private mutating func notAppended(_ part: UploadPart, _ head: UploadHead) -> Action {
    switch head.status {
    case 409:
      // The offset that the server expects is another one (draft §4.4.2; tus, "PATCH").
      return idle(send(.requestOffset)) ?? .refuse(isFinal: false)
    case 413:
      // Draft §4.1.4: a smaller part may be accepted.
      let length = min(part.length, limits.maximumPart ?? .max)
      if length < part.length, length > 0, let smaller = idle(next()) { return smaller }
      return .fail(.tooLarge(size: part.length, maximum: limits.maximumPart ?? limits.maximumSize))
    case let status where isLoss(status):
      return lost()
    default:
      if head.status >= 500, part.isLast { mayHaveArrived = true }
      return refusal(head, of: part.length)
    }
  }

  /// Takes over the server's offset, unless it is impossible. Draft §4.1.1: what was acknowledged cannot be removed again.
  private mutating func acknowledge(_ offset: Int64, upTo limit: Int64) -> UploadError? {
    guard offset >= acknowledged, offset <= limit else {
      return .invalidOffset(offset, acknowledged: acknowledged, size: size)
    }
    guard offset > acknowledged else { return nil }
    acknowledged = offset
    idleRequests = 0
    hasAdvanced = true
    return nil
  }

  private mutating func next() -> Action {
    let rest = size - acknowledged
    // tus is complete with its last byte; the draft when the client says so.
    if rest == 0, kind == .tus { return .complete }
    var length = min(rest, max(chunkSize, limits.minimumPart ?? 0))
    if let maximum = limits.maximumPart { length = min(length, max(1, maximum)) }
    return send(.append(UploadPart(offset: acknowledged, length: length, isLast: length == rest)))
  }

  private mutating func send(_ action: Action) -> Action {
    request = action
    return action
  }

  /// Returns a request that may fail to advance the offset; `nil` after too many.
  private mutating func idle(_ action: Action) -> Action? {
    idleRequests += 1
    return idleRequests <= Self.maximumIdleRequests ? action : nil
  }

  private func isLoss(_ status: Int) -> Bool { status == 404 || status == 410 }

  private mutating func lost() -> Action {
    if mayBeComplete { return .fail(.outcomeUnknown) }
    losses += 1
    guard losses < Self.maximumLosses else { return .fail(.uploadLost) }
    resource = nil
    acknowledged = 0
    limits = UploadLimits()
    return send(.create)
  }

  private func refusal(_ head: UploadHead, of length: Int64) -> Action {
    switch head.status {
    case 413: .fail(.tooLarge(size: length, maximum: limits.maximumSize))
    case 412 where kind == .tus: .fail(.unsupportedVersion(supported: head.version))
    default: .refuse(isFinal: false)
    }
  }

  func fields(of action: Action, metadata: [String: String] = [:]) throws(UploadError) -> [String: String] {
    // Draft, appendix "Draft Version Identification".
    var fields = kind == .draft ? ["Upload-Draft-Interop-Version": "8"] : ["Tus-Resumable": "1.0.0"]
    switch (kind, action) {
    case (.draft, .create):
      // §4.2.1: creating it without content is how the URL becomes known without interim responses.
      (fields["Upload-Complete"], fields["Upload-Length"]) = ("?0", "\(size)")
    case (.draft, .append(let part)):
      (fields["Upload-Complete"], fields["Upload-Offset"]) = (part.isLast ? "?1" : "?0", "\(part.offset)")
      fields["Content-Type"] = "application/partial-upload"
    case (.tus, .create):
      (fields["Upload-Length"], fields["Upload-Metadata"]) = ("\(size)", try Self.text(of: metadata))
    case (.tus, .append(let part)):
      (fields["Upload-Offset"], fields["Content-Type"]) = ("\(part.offset)", "application/offset+octet-stream")
    default: break
    }
    return fields
  }

  /// tus, "Upload-Metadata": pairs of a name and a Base64 value, which is left out if it is empty.
  private static func text(of metadata: [String: String]) throws(UploadError) -> String? {
    guard !metadata.isEmpty else { return nil }
    var pairs: [String] = []
    for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
      guard !name.isEmpty, name.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: ",") }) else {
        throw .invalidMetadata(name: name)
      }
      pairs.append(value.isEmpty ? name : "\(name) \(Data(value.utf8).base64EncodedString())")
    }
    return pairs.joined(separator: ",")
  }
}
