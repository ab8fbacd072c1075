import Foundation

/// Opens a transport and performs the opening handshake on it.
enum Handshake {
  private enum Outcome: Sendable {
    case agreed(HandshakeResponse.Agreement)
    case refused(WebSocketError, HandshakeResponse)
  }

  /// - Parameters:
  ///   - url: The URL of the request, for the response that refuses it.
  ///   - storeCookies: Receives the bytes of the `Set-Cookie` values, whatever the status (RFC 6265 §3).
  static func run(
    _ request: HandshakeRequest, on transport: any ByteTransport, options: WebSocketOptions, url: URL? = nil,
    storeCookies: (_ lines: [[UInt8]]) -> Void = { _ in }
  ) async throws -> HandshakeResponse.Agreement {
    switch try await limited(transport, options, { try await exchange(request, on: transport) }) {
    case .agreed(let agreement):
      storeCookies(agreement.cookieLines)
      return agreement
    case .refused(let error, let response):
      defer { transport.cancel() }
      guard var refusal = HandshakeRefusal(response, url: url) else { throw error }
      storeCookies(refusal.head.setCookieLines)
      if let onRefusal = options.onRefusal {
        await refusal.read(from: transport, clock: options.clock)
        try Task.checkCancellation()
        onRefusal(refusal.response)
      }
      throw error
    }
  }

  /// Opens a connection without a handshake.
  static func openBare(_ address: ByteTransportEndpoint, options: WebSocketOptions) async throws -> any ByteTransport {
    let transport = try ByteTransports.make(address, options)
    try await limited(transport, options) { try await transport.open() }
    return transport
  }

  private static func limited<Result: Sendable>(
    _ transport: any ByteTransport, _ options: WebSocketOptions, _ work: @Sendable () async throws -> Result
  ) async throws -> Result {
    do {
      return try await withTaskCancellationHandler {
        try Task.checkCancellation()
        let result = try await TimeLimit.run(
          options.connectTimeout, clock: options.clock, error: WebSocketError.timedOut, stop: transport.cancel, work)
        // A transport that was cancelled at the last moment cannot be used.
        try Task.checkCancellation()
        return result
      } onCancel: {
        transport.cancel()
      }
    } catch {
      transport.cancel()
      if Task.isCancelled { throw CancellationError() }
      switch error as? ByteTransportError {
      case .failed(let reason)?: throw WebSocketError.connectionLost(reason: reason)
      case .cancelled?: throw WebSocketError.connectionLost(reason: "The connection ended during the handshake")
      case .unavailable?: throw URLError(.resourceUnavailable)
      case nil: throw error
      }
    }
  }

  private static func exchange(
    _ request: HandshakeRequest, on transport: any ByteTransport
  ) async throws -> Outcome {
    try await transport.open()
    let sent = SingleResult()
    transport.send(request.head, isLast: false) { sent.finish($0) }
    try await sent.value()
    var response = HandshakeResponse()
    while true {
      let bytes = try await transport.receive()
      guard !bytes.isEmpty else { throw WebSocketError.connectionLost(reason: "The server ended the handshake") }
      do throws(WebSocketError) {
        if let agreement = try response.receive(bytes, for: request) { return .agreed(agreement) }
      } catch {
        guard case .refused = error else { throw error }
        return .refused(error, response)
      }
    }
  }
}

/// The client's request of the opening handshake (RFC 6455 §4.1).
struct HandshakeRequest: Sendable {
  let address: ByteTransportEndpoint
  let key: String
  let protocols: [String]
  let compression: WebSocketCompression?
  /// The bytes to send.
  let head: [UInt8]

  private static let managed: Set<String> = [
    "host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol",
    "sec-websocket-extensions", "content-length", "transfer-encoding",
  ]

  /// - Parameter nonce: 16 random bytes.
  init(_ request: URLRequest, protocols: [String], options: WebSocketOptions, nonce: [UInt8]) throws {
    guard let url = request.url, let scheme = url.scheme?.lowercased(), let urlHost = url.host else {
      throw WebSocketError.invalidURL
    }
    guard ["ws", "wss", "http", "https"].contains(scheme) else { throw WebSocketError.invalidURL }
    let host = HostSyntax.unbracketed(urlHost)
    let isSecure = scheme == "wss" || scheme == "https"
    let port = url.port ?? Origin.defaultPort(isSecure: isSecure)
    guard (1...65535).contains(port), HostSyntax.isValid(host) else { throw WebSocketError.invalidURL }
    // RFC 6455 §4.1: unique tokens.
    guard protocols.allSatisfy(HeaderSyntax.isToken), Set(protocols).count == protocols.count else {
      throw InvalidHeaderError(field: InvalidHeaderError.subprotocols, reason: .invalidValue)
    }
    address = try ByteTransportEndpoint(host: host, port: port, isSecure: isSecure, options: options)
    key = Data(nonce).base64EncodedString()
    self.protocols = protocols
    compression = options.compression
    var path = url.path(percentEncoded: true)
    if path.isEmpty { path = "/" }
    if let query = url.query(percentEncoded: true) { path += "?" + query }
    var lines = ["GET \(path) HTTP/1.1"]
    lines.append("Host: \(address.hostInURL)\(port == Origin.defaultPort(isSecure: isSecure) ? "" : ":\(port)")")
    lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13"]
    if !protocols.isEmpty { lines.append("\(InvalidHeaderError.subprotocols): " + protocols.joined(separator: ", ")) }
    if let compression { lines.append("Sec-WebSocket-Extensions: " + DeflateParameters.offer(compression)) }
    var fields = request.allHTTPHeaderFields ?? [:]
    if fields.field("Authorization") == nil { fields["Authorization"] = Self.basicCredentials(of: url) }
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      let value = try InvalidHeaderError.checked(value, of: name)
      guard !Self.managed.contains(name.lowercased()) else {
        throw InvalidHeaderError(field: name, reason: .managedByLibrary)
      }
      lines.append("\(name): \(value)")
    }
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
    head = ObsoleteText.bytes(text) ?? Array(text.utf8)
  }

  /// Returns the user and password of a URL as Basic credentials (RFC 7617 §2).
  private static func basicCredentials(of url: URL) -> String? {
    let (user, password) = (url.user(percentEncoded: false), url.password(percentEncoded: false))
    guard user != nil || password != nil else { return nil }
    return "Basic " + Data("\(user ?? ""):\(password ?? "")".utf8).base64EncodedString()
  }

  /// The value of `Sec-WebSocket-Accept` that belongs to the key (§4.2.2).
  var expectedAccept: String {
    Data(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
  }
}

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
      let value = String(line[line.index(after: colon)...].trimmingBlanks())
      if name == "set-cookie" { cookieLines.append(Array(bytes.drop { $0 != UInt8(ascii: ":") }.dropFirst())) }
      headers[name] = headers[name].map { $0 + ", " + value } ?? value
    }
    if (100..<200).contains(status), status != 101 { return nil }
    guard status == 101 else { throw .refused(status: status, headers: headers) }
    guard words[0] == "HTTP/1.1", headers["upgrade"]?.lowercased() == "websocket",
      FieldList.contains("upgrade", in: headers["connection"] ?? "")
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

/// A response that refuses the handshake, with the beginning of its body (RFC 9112 §6.3).
struct HandshakeRefusal: Sendable {
  private enum Framing: Sendable {
    case length(Int64)
    case chunked(ChunkedDecoder)
    case untilEnd
  }

  /// The number of bytes that are read of the body.
  static let limit = 1024
  /// How long to wait for them: they explain the status, which must not be delayed much.
  static let patience = Duration.milliseconds(500)

  let head: ResponseHead
  private var framing: Framing
  private var data = Data()
  private(set) var isComplete = false

  /// Returns `nil` for a response that does not refuse the handshake.
  init?(_ response: HandshakeResponse, url: URL?) {
    guard let refusal = response.refusal, let url, let raw = RawHead(bytes: refusal.head, url: url.withoutCredentials)
    else { return nil }
    head = ResponseHead(raw)
    framing =
      if head.isChunked {
        .chunked(ChunkedDecoder())
      } else if let length = head.contentLength {
        .length(length)
      } else {
        .untilEnd
      }
    isComplete = !head.hasBody(method: "GET")
    receive(refusal.body)
  }

  /// The response, with what has arrived of its body, as it was sent.
  var response: NetworkResponse { NetworkResponse(CollectedResponse(head: head, data: data)) }

  /// Adds received bytes.
  mutating func receive(_ bytes: [UInt8]) {
    guard !isComplete else { return }
    switch framing {
    case .untilEnd: data.append(contentsOf: bytes)
    case .length(let length):
      data.append(contentsOf: bytes)
      if Int64(data.count) >= length {
        data = data.prefix(Int(clamping: length))
        isComplete = true
      }
    case .chunked(var decoder):
      let (part, isLast) = bytes.withUnsafeBytes { input in
        var (part, offset) = (Data(), 0)
        while part.count < Self.limit {
          switch decoder.next(input, &offset) {
          case .data(let bytes)?: part.append(contentsOf: bytes)
          case .lastChunk?, .failure?: return (part, true)
          case nil: return (part, false)
          }
        }
        return (part, true)
      }
      data.append(part)
      isComplete = isLast
      framing = .chunked(decoder)
    }
    guard data.count >= Self.limit else { return }
    data = data.prefix(Self.limit)
    isComplete = true
  }

  /// Reads the body as far as it is needed and arrives in time. The transport is of no use afterwards.
  mutating func read(from transport: any ByteTransport, clock: any Clock<Duration>) async {
    guard !isComplete else { return }
    var refusal = self
    defer { self = refusal }
    await withTaskCancellationHandler {
      try? await TimeLimit.run(Self.patience, clock: clock, error: WebSocketError.timedOut, stop: transport.cancel) {
        while !refusal.isComplete {
          let bytes = try await transport.receive()
          guard !bytes.isEmpty else { return }
          refusal.receive(bytes)
        }
      }
    } onCancel: {
      transport.cancel()
    }
  }
}
