import Foundation

/// An incremental parser for the server's response to the opening handshake (RFC 6455 §4.1).
struct HandshakeResponse: Sendable {
  static let maximumSize = 64 * 1024

  /// The result of the negotiation.
  struct Agreement: Sendable, Equatable {
    var subprotocol: String?
    var compression: DeflateParameters?
    var headers: [String: String]
    /// The bytes of the `Set-Cookie` values.
    var cookieLines: [[UInt8]]
    /// The bytes after the response head: the server's first frames.
    var rest: [UInt8]
  }

  private var bytes: [UInt8] = []
  private var searched = 0
  /// The head of the response that refuses the handshake, and what has arrived of its body.
  private(set) var refusal: (head: [UInt8], body: [UInt8])?
  /// The start of the head that is being parsed, after any interim responses.
  private var start = 0

  /// Parses received bytes; returns the agreement once the head is complete.
  mutating func receive(_ part: [UInt8], for request: HandshakeRequest) throws(WebSocketError) -> Agreement? {
    bytes += part
    if bytes.first.map({ $0 != UInt8(ascii: "H") }) == true {
      throw .invalidHandshake(reason: "it is not HTTP")
    }
    var index = searched
    while index + 3 < bytes.count {
      if bytes[index] == 13, bytes[index + 1] == 10, bytes[index + 2] == 13, bytes[index + 3] == 10 {
        guard index <= Self.maximumSize else { break }
        do throws(WebSocketError) {
          let agreement = try Self.check(bytes[start..<index], rest: Array(bytes[(index + 4)...]), request)
          if let agreement { return agreement }
        } catch {
          if case .refused = error { refusal = (Array(bytes[start..<(index + 4)]), Array(bytes[(index + 4)...])) }
          throw error
        }
        start = index + 4
        if start < bytes.count, bytes[start] != UInt8(ascii: "H") {
          throw .invalidHandshake(reason: "it is not HTTP")
        }
        index = start
        continue
      }
      index += 1
    }
    searched = max(start, bytes.count - 3)
    guard bytes.count <= Self.maximumSize else { throw .invalidHandshake(reason: "its head is too long") }
    return nil
  }

  /// Validates a response head; returns `nil` for an interim response (RFC 9110 §15.2), which the final one follows.
  private static func check(
    _ head: ArraySlice<UInt8>, rest: @autoclosure () -> [UInt8], _ request: HandshakeRequest
  ) throws(WebSocketError) -> Agreement? {
    var lines = Self.lines(head)[...]
    let words = String(decoding: lines.removeFirst(), as: UTF8.self)
      .split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    // Three digits without a sign (RFC 9112 §4).
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3, let status = Int(words[1]),
      status >= 100
    else {
      throw .invalidHandshake(reason: "its status line is invalid")
    }
    var headers: [String: String] = [:]
    var cookieLines: [[UInt8]] = []
    for bytes in lines {
      let line = String(decoding: bytes, as: UTF8.self)
      // RFC 9110 §5.5: a value has no bare carriage return, line feed or NUL.
      guard let colon = line.firstIndex(of: ":"), HeaderSyntax.isToken(String(line[..<colon])),
        !bytes.contains(where: { $0 == 13 || $0 == 10 || $0 == 0 })
      else {
        throw .invalidHandshake(reason: "a header line is invalid")
      }
      let name = line[..<colon].lowercased()
      let value = HTTPField.trim(line[line.index(after: colon)...])
      if name == "set-cookie" { cookieLines.append(Array(bytes.drop { $0 != UInt8(ascii: ":") }.dropFirst())) }
      headers[name] = headers[name].map { $0 + ", " + value } ?? value
    }
    if (100..<200).contains(status), status != 101 { return nil }
    guard status == 101 else { throw .refused(status: status, headers: headers) }
    guard words[0] == "HTTP/1.1", headers["upgrade"]?.lowercased() == "websocket",
      HTTPField.list(headers["connection"] ?? "", contains: "upgrade")
    else { throw .invalidHandshake(reason: "its Upgrade or Connection header, or its HTTP version, is invalid") }
    guard headers["sec-websocket-accept"] == request.expectedAccept else {
      throw .invalidHandshake(reason: "Sec-WebSocket-Accept does not match the key")
    }
    let subprotocol = headers["sec-websocket-protocol"]
    if let subprotocol, !request.protocols.contains(subprotocol) {
      throw .invalidHandshake(reason: "the server chose a subprotocol that was not offered")
    }
    return Agreement(
      subprotocol: subprotocol,
      compression: try DeflateParameters.agreed(headers["sec-websocket-extensions"], offer: request.compression),
      headers: headers, cookieLines: cookieLines, rest: rest())
  }

  private static func lines(_ head: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    var lines: [ArraySlice<UInt8>] = []
    var start = head.startIndex
    for index in head.indices.dropLast() where head[index] == 13 && head[index + 1] == 10 {
      lines.append(head[start..<index])
      start = index + 2
    }
    return lines + [head[start...]]
  }
}
