import Foundation

/// The field lines of a request, as they are written to the connection, without `Host` and `Content-Length`.
struct HeaderBlock: Sendable {
  /// The lines, each with its line end.
  let bytes: [UInt8]
  /// The request's own `Host`; `nil` for that of the URL.
  let host: String?
  /// Whether the connection must not be used for another request (RFC 9112 §9.6).
  let closes: Bool

  /// - Parameter fields: Valid fields, no name twice.
  init(_ fields: [(name: String, value: String)]) {
    var bytes: [UInt8] = []
    var (host, closes) = (String?.none, false)
    bytes.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
    for (name, value) in fields {
      if HeaderSyntax.isSame(name, "host"), name.utf8.count == 4 {
        host = value
        continue
      }
      if HeaderSyntax.isSame(name, "connection"), name.utf8.count == 10 {
        closes = closes || FieldList.members(value).contains { $0.lowercased() == "close" }
      }
      Self.append(name, value, to: &bytes)
    }
    self.bytes = bytes
    self.host = host
    self.closes = closes
  }

  fileprivate static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
    bytes.append(utf8: name)
    bytes.append(utf8: ": ")
    // Only cookies, and the realms of passwords, carry bytes that are not text.
    if let carried = ObsoleteText.bytes(value) { bytes += carried } else { bytes.append(utf8: value) }
    bytes.append(utf8: "\r\n")
  }
}

/// The head of a request (RFC 9112 §3).
enum RequestHead {
  /// What ends the authority of a URL (RFC 3986 §3.2).
  private static let delimiters = ByteSet("/?#")

  /// - Parameters:
  ///   - host: The `Host` of the URL (§3.2).
  ///   - isForwarded: Whether a proxy forwards the request, which has the whole URL then (§3.2.2).
  ///   - length: The length of the body; `nil` if there is none, or if it is chunked, as the fields then say.
  static func bytes(
    method: String, url: URL, host: String, isForwarded: Bool = false, block: HeaderBlock, length: Int64?
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    var text = url.absoluteString
    text.withUTF8 { text in
      bytes.reserveCapacity(block.bytes.count + text.count + 96)
      bytes.append(utf8: method)
      bytes.append(UInt8(ascii: " "))
      if isForwarded { bytes.append(utf8: "http://\(host)") }
      appendTarget(of: text, to: &bytes)
    }
    bytes.append(utf8: " HTTP/1.1\r\n")
    HeaderBlock.append("Host", block.host ?? host, to: &bytes)
    bytes += block.bytes
    if let length { HeaderBlock.append("Content-Length", "\(length)", to: &bytes) }
    bytes.append(utf8: "\r\n")
    return bytes
  }

  /// Returns the `Host` of a request to an origin (RFC 9112 §3.2), which has no default port.
  static func host(of origin: Origin) -> String {
    let host = origin.hostToConnect
    // RFC 6874 §4: a zone is only meaningful on this machine.
    let literal = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host.prefix { $0 != "%" })]" : host
    let isDefaultPort = origin.port == Origin.defaultPort(isSecure: origin.scheme == "https")
    return isDefaultPort ? literal : "\(literal):\(origin.port)"
  }

  /// Returns where the authority of a URL with one ends (RFC 3986 §3.2); 0 for one that has none.
  static func endOfAuthority(in url: UnsafeBufferPointer<UInt8>) -> Int {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url.count > colon + 2,
      url[colon + 1] == UInt8(ascii: "/"), url[colon + 2] == UInt8(ascii: "/")
    else { return 0 }
    return url[(colon + 3)...].firstIndex(where: delimiters.contains) ?? url.count
  }

  /// Appends the target in its origin form (RFC 9112 §3.2.1): the path and the query of a URL, without dot segments,
  /// which a URL of the user may still have (RFC 3986 §5.2.4).
  static func appendTarget(of url: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    let start = endOfAuthority(in: url)
    var (end, query) = (url.count, url.count)
    var (isPlain, hasDotSegments) = (true, false)
    for index in start..<url.count {
      let byte = url[index]
      if byte == UInt8(ascii: "#") {
        end = index
        break
      }
      if byte == UInt8(ascii: "?"), index < query { query = index }
      if !(byte > 0x20 && byte < 0x7F) { isPlain = false }
      if byte == UInt8(ascii: "."), index > start, index < query, url[index - 1] == UInt8(ascii: "/") {
        hasDotSegments = true
      }
    }
    query = min(query, end)
    if start == query || url[start] != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
    if isPlain, !hasDotSegments { return bytes.append(contentsOf: url[start..<end]) }
    let path = ArraySlice(url[start..<query])
    appendEncoded(hasDotSegments ? ServerURL.withoutDotSegments(path) : path, to: &bytes)
    appendEncoded(ArraySlice(url[query..<end]), to: &bytes)
  }

  /// Whatever a URL contains, a blank or a line end must not end the target.
  private static func appendEncoded(_ part: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
    for byte in part {
      if byte > 0x20, byte < 0x7F { bytes.append(byte) } else { PercentEncoding.appendEncoded(byte, to: &bytes) }
    }
  }
}

extension [UInt8] {
  /// Appends a string without the generic code for any sequence.
  fileprivate mutating func append(utf8 string: String) {
    var string = string
    string.withUTF8 { append(contentsOf: $0) }
  }
}

#if os(Linux)
  /// Converts a request's fields to the lines of its head. The last result is cached, because the next request mostly has
  /// the same.
  struct RequestFields: Sendable {
    /// What the fields have to state about the request's content (RFC 9110 §8.6, RFC 9112 §6).
    enum Content {
      /// There is no content, and none is expected.
      case none
      /// There is no content, although the method usually has some.
      case empty
      case sized
      case chunked
    }

    /// The default `User-Agent`, like the one that Foundation derives from the process.
    private static let userAgent = UserAgentConfiguration().generateUserAgentString()

    private struct Last: Sendable {
      let fields: HeaderFieldList
      let content: Content
      let block: HeaderBlock
    }

    /// The limits of the fields that are cached.
    private static let maximumCount = 64
    private static let maximumBytes = 16_384

    private let last = Locked<Last?>(nil)

    /// Returns the lines for these fields, and for the defaults of those that are missing.
    ///
    /// - Throws: ``InvalidHeaderError``.
    func block(for fields: HeaderFieldList, content: Content) throws -> HeaderBlock {
      // All fields are compared, so that no request is sent with the fields of another.
      if let last = last.withLock({ $0 }), last.content == content, last.fields == fields {
        return last.block
      }
      let block = HeaderBlock(try Self.complete(fields, content))
      guard fields.count <= Self.maximumCount,
        fields.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count }) <= Self.maximumBytes
      else { return block }
      last.replace(\.self, with: Last(fields: fields, content: content, block: block))
      return block
    }

    /// Returns the fields, checked and with their defaults.
    private static func complete(
      _ given: HeaderFieldList, _ content: Content
    ) throws -> [(name: String, value: String)] {
      var fields: [(name: String, value: String)] = []
      var names: Set<String> = []
      for field in given {
        let name = field.name
        let value = try InvalidHeaderError.checked(field.value, of: name)
        let lowercased = name.lowercased()
        // The length is that of the body, and the coding is added below. Any other value would let the server see the end of
        // the request elsewhere (RFC 9112 §6.3).
        if lowercased == "transfer-encoding", value.lowercased() != "chunked" {
          throw InvalidHeaderError(field: name, reason: .managedByLibrary)
        }
        guard lowercased != "content-length", lowercased != "transfer-encoding", names.insert(lowercased).inserted
        else { continue }
        fields.append((name, value))
      }
      func addDefault(_ name: String, _ value: String?) {
        if !names.contains(name.lowercased()), let value { fields.append((name, value)) }
      }
      // RFC 9110 §14.1.2: a range counts the bytes of the encoded content, and a part of that cannot be decoded.
      addDefault("Accept-Encoding", names.contains("range") ? "identity" : ContentCoding.acceptEncoding)
      addDefault("User-Agent", userAgent)
      // RFC 9110 §8.6: a method that usually has content states that there is none.
      if content == .empty { fields.append(("Content-Length", "0")) }
      addDefault("Accept", "*/*")
      if content == .chunked { fields.append(("Transfer-Encoding", "chunked")) }
      return fields
    }
  }
#endif

/// The bytes of a request that have yet to be sent: its head, and one piece of its body at a time. A small body is sent
/// with the head.
struct OutputBuffer {
  /// How much of a body is read at a time.
  static let pieceSize = 64 * 1024
  /// The space before a chunk for its size, and after it for its line end (RFC 9112 §7.1).
  private static let margins = (before: 16, after: 2)

  private var bytes: [UInt8] = []
  private var start = 0

  var isEmpty: Bool { start == bytes.count }

  /// The bytes to send next.
  var pending: ArraySlice<UInt8> { bytes[start...] }

  mutating func append(_ more: [UInt8]) {
    if isEmpty {
      bytes = more
      start = 0
    } else {
      bytes += more
    }
  }

  mutating func sent(_ count: Int) {
    start = min(start + count, bytes.count)
    if isEmpty { removeAll() }
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: bytes.capacity <= 4096)
    start = 0
  }

  /// Reads the next piece of a body into the buffer: at most `limit` bytes, in a chunk if the length of the body is not
  /// known. Only the head may be in it, and only if the length is known.
  mutating func fill(
    upTo limit: Int64, isChunked: Bool, _ read: (UnsafeMutableRawBufferPointer) -> UploadRead
  ) -> UploadRead {
    let size = Int(min(limit, Int64(Self.pieceSize)))
    let head = Array(pending)
    let (before, after) = isChunked ? Self.margins : (head.count, 0)
    var result = UploadRead.pending
    var first = 0
    bytes = [UInt8](unsafeUninitializedCapacity: before + size + after) { buffer, count in
      if !isChunked {
        _ = buffer[..<before].initialize(fromContentsOf: head)
        count = before
      }
      let space = UnsafeMutableRawBufferPointer(buffer)[before..<(before + size)]
      result = read(UnsafeMutableRawBufferPointer(rebasing: space))
      // A chunk of no bytes would end the body.
      guard case .bytes(let length) = result, length > 0, length <= size else { return }
      count = before + length + after
      guard isChunked else { return }
      let sizeLine = Array("\(String(length, radix: 16))\r\n".utf8)
      first = before - sizeLine.count
      buffer[..<first].initialize(repeating: 0)
      _ = buffer[first..<before].initialize(fromContentsOf: sizeLine)
      _ = buffer[(before + length)..<count].initialize(fromContentsOf: "\r\n".utf8)
    }
    start = first
    return result
  }

  /// Appends the last chunk and the trailer section (RFC 9112 §7.1.2).
  ///
  /// - Parameter trailers: The lines of the fields.
  mutating func appendLastChunk(trailers: [UInt8] = []) { append(Array("0\r\n".utf8) + trailers + Array("\r\n".utf8)) }
}
