import Foundation

/// The rules for the head of a response that the library itself receives: how much a server may send, and what makes it uncertain where the response ends (RFC 9112 §6.3).
enum ResponseHeadRules {
  /// Why a response cannot be used.
  typealias Failure = (code: URLError.Code, text: String)

  /// A head may have 300 KB in all, as with curl. So may the interim responses before it together, and the trailers.
  static let maximumSize = 300 * 1024
  /// The number of folded lines that a response may have: hardly any server sends one (RFC 9112 §5.2).
  static let maximumFolds = 100

  /// The limit for one line.
  static let maximumLine = 100 * 1024

  static let notHTTP: Failure = (.badServerResponse, "The response does not begin with a status line of HTTP")
  static let wrongVersion: Failure = (
    .badServerResponse, "The status line claims a version of HTTP that was not negotiated"
  )
  static let malformedStatusLine: Failure = (.badServerResponse, "The status line is malformed")
  static let secondStatusLine: Failure = (.badServerResponse, "The response head has two status lines")
  static let malformedField: Failure = (
    .badServerResponse, "The response head has a line that is no header field: the server has to be corrected"
  )
  static let controlCharacter: Failure = (
    .badServerResponse, "A line of the response head contains a NUL or a carriage return"
  )
  static let tooManyFolds: Failure = (
    .badServerResponse, "The response has more than \(maximumFolds) folded header lines"
  )
  static let headIsTooLong: Failure = (
    .dataLengthExceedsMaximum, "The response head is longer than \(maximumSize) bytes"
  )
  static let lineIsTooLong: Failure = (
    .dataLengthExceedsMaximum, "A line of the response head is longer than \(maximumLine) bytes"
  )
  static let interimResponsesAreTooLong: Failure = (
    .dataLengthExceedsMaximum, "The interim responses are longer than \(maximumSize) bytes"
  )
  static let trailersAreTooLong: Failure = (
    .dataLengthExceedsMaximum, "The response's trailers are longer than \(maximumSize) bytes"
  )

  /// Returns what is wrong with a complete head, interim or final.
  ///
  /// - Parameter method: The method of the request.
  static func failure(of head: RawHead, method: String) -> Failure? {
    if head.statusCode == 101 {
      // RFC 9110 §15.2.2: this is only allowed for requests with an Upgrade field, and none is sent here.
      return (.badServerResponse, "The server switched protocols without an Upgrade request")
    }
    // RFC 9112 §6.3: a response without a body ends with its head, whatever the fields say.
    guard head.statusCode >= 200, ResponseHead(head).hasBody(method: method) else { return nil }
    if let failure = unknownTransferCoding(head) { return failure }
    // RFC 9112 §6.3: chunked overrides the length. Identity, which older servers send, changes nothing.
    return transferCodings(of: head).contains { $0.isFieldName("chunked") } ? nil : lengthFailure(of: head)
  }

  /// The transfer codings in the order in which they were applied.
  static func transferCodings(of head: RawHead) -> [String] { members(of: "transfer-encoding", in: head) }

  /// Returns the members of a list of tokens, which cannot be quoted. `name` is in lower case.
  static func members(of name: StaticString, in head: RawHead) -> [String] {
    guard head.has(name) else { return [] }
    return head.values(name).flatMap { $0.split(separator: ",") }.map { String($0.trimmingBlanks()) }
  }

  /// RFC 9110 §5.5, RFC 9112 §2.2: neither may be in a line, and there are recipients for which it ends the line.
  static func hasControlCharacter(_ line: UnsafeRawBufferPointer) -> Bool {
    guard let base = line.baseAddress else { return false }
    let carriageReturn = memchr(base, 0x0d, line.count).map { base.distance(to: $0) }
    return (carriageReturn ?? line.count - 2) != line.count - 2 || memchr(base, 0, line.count) != nil
  }

  /// RFC 9112 §6.3: differing lengths are an unrecoverable error.
  private static func lengthFailure(of head: RawHead) -> Failure? {
    guard head.has("content-length"), head.number("content-length") == nil else { return nil }
    let lengths = members(of: "content-length", in: head)
    guard let first = lengths.first, lengths.allSatisfy({ $0 == first }) else {
      return (.badServerResponse, "The response has contradictory Content-Length fields")
    }
    guard length(first) != nil else {
      return (.badServerResponse, "The response's Content-Length is not a valid number")
    }
    return nil
  }

  /// The length that a valid head announces. It may be repeated (RFC 9110 §8.6).
  static func length(of head: RawHead) -> Int64? {
    head.number("content-length") ?? members(of: "content-length", in: head).first.flatMap(length)
  }

  static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  /// RFC 9112 §6.1: only chunked was offered.
  private static func unknownTransferCoding(_ head: RawHead) -> Failure? {
    let unknown = transferCodings(of: head).first { !$0.isFieldName("chunked") && !$0.isFieldName("identity") }
    guard let unknown else { return nil }
    let text = unknown.lowercased().prefix(40)
    return (.badServerResponse, "The response has an unsupported transfer coding: \(text)")
  }

  /// Returns a number of digits only; `Int64` would accept a sign.
  private static func length(_ text: String) -> Int64? { text.utf8.allSatisfy(isDigit) ? Int64(text) : nil }
}
