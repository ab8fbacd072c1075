import Foundation

/// A parsed request line and header section.
struct RequestHead: Equatable, Sendable {
  /// The framing of the body (RFC 9112, section 6).
  enum Framing: Equatable {
    case length(Int)
    case chunked
  }

  let method: String
  let target: String
  let version: String
  let fields: HeaderFields
  let raw: Data

  /// Parses a block of lines, each ending in CRLF, up to an empty line.
  init(parsing block: [UInt8]) throws(RequestParser.Failure) {
    guard let lineEnd = block.firstIndex(of: .carriageReturn) else { throw Self.bad("no request line") }
    guard lineEnd + 1 < block.count, block[lineEnd + 1] == .lineFeed else { throw Self.bad("a bare CR") }
    let parts = block[..<lineEnd].split(separator: 0x20, omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw Self.bad("the request line has not three parts") }
    guard !parts[0].isEmpty, parts[0].allSatisfy(\.isTokenCharacter) else { throw Self.bad("bad method") }
    guard !parts[1].isEmpty, parts[1].allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw Self.bad("bad target") }
    version = String(decoding: parts[2], as: UTF8.self)
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
      throw RequestParser.Failure(status: 505, reason: "not HTTP/1")
    }
    method = String(decoding: parts[0], as: UTF8.self)
    target = String(latin1Or8: parts[1])
    fields = try Self.fields(in: block[(lineEnd + 2)...].dropLast(2))
    raw = Data(block)
    // RFC 9112, section 3.2: exactly one Host field is required.
    let hosts = fields.count { $0.name.equalsIgnoringCase("Host") }
    if version == "HTTP/1.1", hosts != 1 { throw Self.bad("\(hosts) Host fields") }
  }

  /// Returns the framing of the body according to the header fields.
  func framing() throws(RequestParser.Failure) -> Framing {
    let lengths = fields.values("Content-Length")
    let codings = fields.values("Transfer-Encoding")
    if !codings.isEmpty {
      // RFC 9112, section 6.1: both at once indicate request smuggling.
      guard lengths.isEmpty else { throw Self.bad("Content-Length and Transfer-Encoding") }
      guard codings.count == 1, codings[0].equalsIgnoringCase("chunked") else {
        throw RequestParser.Failure(status: 501, reason: "unknown transfer coding")
      }
      return .chunked
    }
    guard let first = lengths.first else { return .length(0) }
    guard lengths.allSatisfy({ $0 == first }), !first.isEmpty, first.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      let count = Int(first)
    else { throw Self.bad("bad Content-Length") }
    return .length(count)
  }

  /// Parses field lines, each ending in CRLF.
  static func fields(in lines: ArraySlice<UInt8>) throws(RequestParser.Failure) -> HeaderFields {
    var fields: [HeaderFields.Field] = []
    var rest = lines
    while let end = rest.firstIndex(of: .lineFeed) {
      let line = rest[..<(end - 1)]
      rest = rest[(end + 1)...]
      guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex,
        line[..<colon].allSatisfy(\.isTokenCharacter)
      else { throw Self.bad("bad field name") }
      var value = line[(colon + 1)...]
      while let byte = value.first, byte == 0x20 || byte == 0x09 { value.removeFirst() }
      while let byte = value.last, byte == 0x20 || byte == 0x09 { value.removeLast() }
      guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { throw Self.bad("bad field value") }
      fields.append(HeaderFields.Field(String(decoding: line[..<colon], as: UTF8.self), String(latin1Or8: value)))
    }
    return HeaderFields(fields)
  }

  private static func bad(_ reason: String) -> RequestParser.Failure {
    RequestParser.Failure(status: 400, reason: reason)
  }
}
