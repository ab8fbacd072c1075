import Foundation

/// Parses the response to one request on an HTTP/1.1 connection (RFC 9112).
///
/// It is stricter than clients used to be: where the end of a response is uncertain, so is the beginning of the next one
/// (RFC 9112 §11.1). A response that is understood, but that others may understand differently, ends the connection.
struct ResponseParser {
  enum Event {
    /// An interim response (RFC 9110 §15.2), or 101 if that is allowed: behind it, another protocol begins.
    case interim(RawHead)
    /// The head of the final response.
    case head(RawHead)
    /// Bytes of the body, a slice of the input; never empty.
    case body(UnsafeRawBufferPointer)
    /// The response is complete. Bytes from the offset on belong to no response.
    case end
    /// Nothing more may be parsed.
    case failure(URLError.Code, String)
  }

  /// What it means that the server has closed its side.
  enum Ending {
    case complete
    /// Not one byte of a final response was received.
    case nothing
    case inHead
    case inBody
  }

  private enum State {
    case head
    /// What is left of a body whose length is known.
    case length(Int64)
    case chunked
    case trailers
    /// The body is delimited by the close of the connection.
    case untilClose
    case complete
    case failed(ResponseHeadRules.Failure)
  }

  private let url: URL
  private let method: String
  private let allowsUpgrade: Bool
  private var state = State.head
  private var scanner = FieldSectionScanner(.head)
  private var decoder = ChunkedDecoder()
  private var interimSize = 0
  private var hasHead = false
  /// Whether the head allows another request on the connection (RFC 9112 §9.3).
  private(set) var mayPersist = false
  /// How long the connection may be idle before another request; `nil` if the server does not say. Of the time that it grants,
  /// the last second, or half of a single one, is left for the way of the request.
  private(set) var maximumIdle: Duration?
  /// The trailer section, under a status line of its own; `nil` if it is empty. Fields that are forbidden there are not left
  /// out, and must not be interpreted (RFC 9110 §6.5.1).
  private(set) var trailers: RawHead?
  /// The `Content-Length`, if it frames the body.
  private(set) var expectedLength: Int64?

  /// - Parameters:
  ///   - method: The method of the request.
  ///   - allowsUpgrade: Whether the request has an `Upgrade` field. No response follows the one to it, whose end may be
  ///     uncertain.
  init(url: URL, method: String, allowsUpgrade: Bool = false) {
    self.url = url
    self.method = method
    self.allowsUpgrade = allowsUpgrade
  }

  /// Whether nothing of a final response has been seen: the request may then be sent again.
  var isEmpty: Bool { if case .head = state { scanner.isEmpty } else { false } }

  /// Whether the close of the connection delimits the body.
  var endsWithConnection: Bool { if case .untilClose = state { true } else { false } }

  /// Whether the connection may carry another request once the response has ended (RFC 9112 §9.3).
  var isPersistent: Bool {
    guard case .complete = state else { return false }
    return mayPersist && !isSuspicious
  }

  /// Whether something was received that others may understand differently.
  var isSuspicious: Bool { scanner.isSuspicious || decoder.isSuspicious }

  /// Parses from `offset` on and advances it past what was used. `nil`: the whole input was used, and more is needed.
  ///
  /// After the head of a response without body the next call returns the end at once, also without input.
  mutating func next(_ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Event? {
    switch state {
    case .head: return head(input, &offset)
    case .length(let length): return body(input, &offset, length)
    case .untilClose: return body(input, &offset, nil)
    case .chunked: return chunked(input, &offset)
    case .trailers: return trailerSection(input, &offset)
    case .complete: return .end
    case .failed(let failure): return .failure(failure.code, failure.text)
    }
  }

  /// How many of the next bytes are of the body, whatever they are; 0 if that is not known.
  var nextBodyBytes: Int {
    switch state {
    case .length(let length): Int(clamping: length)
    case .untilClose: .max
    default: 0
    }
  }

  /// Handles bytes that were received without being parsed, at most ``nextBodyBytes``.
  mutating func receivedBody(_ count: Int) {
    guard case .length(let length) = state else { return }
    let rest = length - min(length, Int64(count))
    state = rest == 0 ? .complete : .length(rest)
  }

  /// Returns what it means that the server has closed its side now.
  mutating func closed() -> Ending {
    switch state {
    case .head: return scanner.isEmpty ? .nothing : .inHead
    case .length, .chunked, .trailers: return .inBody
    case .untilClose:
      state = .complete
      mayPersist = false
      return .complete
    case .complete: return .complete
    case .failed: return hasHead ? .inBody : .inHead
    }
  }

  private mutating func fail(_ failure: ResponseHeadRules.Failure) -> Event {
    state = .failed(failure)
    return .failure(failure.code, failure.text)
  }

  // MARK: - Head

  private mutating func head(_ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Event? {
    switch scanner.next(input, &offset) {
    case nil: return nil
    case .failure(let failure): return fail(failure)
    case .complete(let bytes):
      guard let head = RawHead(bytes: bytes, url: url) else { return fail(ResponseHeadRules.malformedStatusLine) }
      if !allowsUpgrade, let failure = ResponseHeadRules.failure(of: head, method: method) { return fail(failure) }
      return head.statusCode < 200 ? interim(head) : final(head)
    }
  }

  /// Limits the size of all interim responses: a server could send them for ever.
  private mutating func interim(_ head: RawHead) -> Event {
    interimSize += head.bytes.count
    guard interimSize <= ResponseHeadRules.maximumSize else {
      return fail(ResponseHeadRules.interimResponsesAreTooLong)
    }
    return .interim(head)
  }

  private mutating func final(_ head: RawHead) -> Event {
    mayPersist = allowsPersistence(head)
    if let failure = frame(head) { return fail(failure) }
    hasHead = true
    return .head(head)
  }

  /// Determines where the body ends (RFC 9112 §6.3).
  private mutating func frame(_ head: RawHead) -> ResponseHeadRules.Failure? {
    let codings = ResponseHeadRules.transferCodings(of: head)
    guard hasBody(head) else {
      state = .complete
      return nil
    }
    // RFC 9112 §7: identity, which older servers send, changes nothing.
    let chunkedCount = codings.count { $0.isFieldName("chunked") }
    if chunkedCount > 0 {
      let isLastOnce = chunkedCount == 1 && codings.last?.isFieldName("chunked") == true
      guard isLastOnce || allowsUpgrade else {
        return (.badServerResponse, "The response's last transfer coding is not chunked, or chunked occurs twice")
      }
      state = .chunked
      return nil
    }
    expectedLength = ResponseHeadRules.length(of: head)
    state = expectedLength.map { $0 == 0 ? .complete : .length($0) } ?? .untilClose
    return nil
  }

  private func hasBody(_ head: RawHead) -> Bool {
    // RFC 9110 §9.3.6: after it, the connection is a tunnel.
    let isTunnel = method == "CONNECT" && (200..<300).contains(head.statusCode)
    return !isTunnel && ResponseHead(head).hasBody(method: method)
  }

  /// RFC 9112 §9.3, as far as it depends on the head.
  private mutating func allowsPersistence(_ head: RawHead) -> Bool {
    // What most servers say, if anything, needs no list.
    let isKeptAlive = head.has("connection", only: "keep-alive")
    let options = isKeptAlive ? [] : ResponseHeadRules.members(of: "connection", in: head)
    let (hasCodings, hasLength) = (head.has("transfer-encoding"), head.has("content-length"))
    // The start of the status line has been checked.
    let isVersion10 = head.bytes[7] == UInt8(ascii: "0")
    if options.contains(where: { $0.isFieldName("close") }) { return false }
    // RFC 9110 §7.6.1: the option says that the field of this name is meant for this connection.
    let hasKeepAlive = isKeptAlive || options.contains { $0.isFieldName("keep-alive") }
    if hasKeepAlive, let seconds = head.keepAliveTimeout {
      let timeout = Duration.seconds(seconds)
      maximumIdle = max(timeout - .seconds(1), timeout / 2)
    }
    // RFC 9112 §6.1: a recipient of version 1.0 on the way does not know the coding.
    if isVersion10, hasCodings || !hasKeepAlive { return false }
    // RFC 9112 §6.1: with both, others on the way may see another end of the body.
    if hasCodings, hasLength { return false }
    // RFC 9112 §6.1, RFC 9110 §8.6: a server that announces a body here may send it, except for a HEAD.
    if head.statusCode == 204, method != "HEAD", hasCodings || (hasLength && ResponseHeadRules.length(of: head) != 0) {
      return false
    }
    return method != "CONNECT" || hasBody(head)
  }

  // MARK: - Body

  /// - Parameter length: What is left of the body; `nil` if the close of the connection delimits it.
  private mutating func body(_ input: UnsafeRawBufferPointer, _ offset: inout Int, _ length: Int64?) -> Event? {
    guard offset < input.count else { return nil }
    let available = input.count - offset
    let count = length.map { Int(min($0, Int64(available))) } ?? available
    let bytes = UnsafeRawBufferPointer(rebasing: input[offset..<(offset + count)])
    offset += count
    receivedBody(count)
    return .body(bytes)
  }

  private mutating func chunked(_ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Event? {
    switch decoder.next(input, &offset) {
    case nil: return nil
    case .data(let bytes): return .body(bytes)
    case .failure(let failure): return fail(failure)
    case .lastChunk:
      scanner.beginTrailers()
      state = .trailers
      return trailerSection(input, &offset)
    }
  }

  private mutating func trailerSection(_ input: UnsafeRawBufferPointer, _ offset: inout Int) -> Event? {
    switch scanner.next(input, &offset) {
    case nil: return nil
    case .failure(let failure): return fail(failure)
    case .complete(let bytes):
      // The empty line alone is the rule.
      if bytes.count > 2 { trailers = RawHead(bytes: Array("HTTP/1.1 200\r\n".utf8) + bytes, url: url) }
      state = .complete
      return .end
    }
  }
}
