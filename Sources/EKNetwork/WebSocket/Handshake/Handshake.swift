import Foundation

/// Opens a transport and performs the opening handshake on it.
enum Handshake {
  private enum Outcome: Sendable {
    case agreed(HandshakeResponse.Agreement)
    case refused(WebSocketError, HandshakeRefusal)
  }

  /// - Parameter storeCookies: Receives the bytes of the `Set-Cookie` values, whatever the status (RFC 6265 §3).
  static func run(
    _ request: HandshakeRequest, on transport: any ByteTransport, options: WebSocketOptions,
    storeCookies: (_ lines: [[UInt8]]) -> Void = { _ in }
  ) async throws -> HandshakeResponse.Agreement {
    switch try await limited(transport, options, { try await exchange(request, on: transport) }) {
    case .agreed(let agreement):
      storeCookies(agreement.cookieLines)
      return agreement
    case .refused(let error, var refusal):
      defer { transport.cancel() }
      storeCookies(refusal.head.setCookieLines)
      if let onRefusal = options.onRefusal {
        await refusal.read(from: transport, clock: options.clock)
        try Task.checkCancellation()
        onRefusal(refusal.response)
      }
      throw error
    }
  }

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
      case nil: throw error
      }
    }
  }

  private static func exchange(_ request: HandshakeRequest, on transport: any ByteTransport) async throws -> Outcome {
    try await transport.open()
    let sent = SingleResult()
    transport.send(request.head, isLast: false) { sent.finish($0) }
    // A server that reads nothing may still say why, by an alert (RFC 8446 §6.2) or a response, before it closes.
    var sendFailure: ByteTransportError?
    do {
      try await sent.value()
    } catch let error as ByteTransportError where error != .cancelled {
      sendFailure = error
    }
    var response = HandshakeResponse(to: request)
    while true {
      let bytes: [UInt8]
      do { bytes = try await transport.receive() } catch let error as ByteTransportError { throw sendFailure ?? error }
      guard !bytes.isEmpty else {
        throw sendFailure ?? WebSocketError.connectionLost(reason: "The server ended the handshake")
      }
      do throws(WebSocketError) {
        if let agreement = try response.receive(bytes) { return .agreed(agreement) }
      } catch {
        guard let refusal = response.refusal else { throw error }
        return .refused(error, refusal)
      }
    }
  }
}

/// The client's request of the opening handshake (RFC 6455 §4.1).
struct HandshakeRequest: Sendable {
  /// The URL without user and password.
  let url: URL
  let address: ByteTransportEndpoint
  let key: String
  let protocols: [String]
  let compression: WebSocketCompression?
  let head: [UInt8]

  private static let managed: Set<String> = [
    "host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol",
    "sec-websocket-extensions", "content-length", "transfer-encoding",
  ]

  /// - Parameters:
  ///   - request: The request with all that its origin may receive, such as the credentials in its URL: ``HopRequest``.
  ///   - nonce: 16 random bytes.
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
    self.url = url.withoutCredentials
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
    for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      let value = try InvalidHeaderError.checked(value, of: name)
      guard !Self.managed.contains(name.lowercased()) else {
        throw InvalidHeaderError(field: name, reason: .managedByLibrary)
      }
      lines.append("\(name): \(value)")
    }
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
    head = ObsoleteText.bytes(text) ?? Array(text.utf8)
  }

  /// The value of `Sec-WebSocket-Accept` that belongs to the key (§4.2.2).
  var expectedAccept: String {
    Data(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
  }
}

/// An incremental parser for the server's response to the opening handshake (RFC 6455 §4.1).
struct HandshakeResponse: Sendable {
  static let maximumSize = 64 * 1024

  struct Agreement: Sendable, Equatable {
    var subprotocol: String?
    var compression: DeflateParameters?
    var headers: [String: String]
    /// The bytes of the `Set-Cookie` values.
    var cookieLines: [[UInt8]]
    /// The bytes after the response head: the server's first frames.
    var rest: [UInt8]
  }

  /// The response, if it refuses the handshake.
  private(set) var refusal: HandshakeRefusal?
  private let request: HandshakeRequest
  private var parser: ResponseParser
  private var size = 0

  init(to request: HandshakeRequest) {
    self.request = request
    parser = ResponseParser(url: request.url, method: "GET", allowsUpgrade: true)
  }

  /// Parses received bytes; returns the agreement once the head is complete.
  mutating func receive(_ bytes: [UInt8]) throws(WebSocketError) -> Agreement? {
    var offset = 0
    while let event = bytes.withUnsafeBytes({ parser.next($0, &offset) }) {
      guard size + offset <= Self.maximumSize else { throw Self.tooLong }
      switch event {
      case .interim(let head) where head.statusCode == 101: return try agreement(head, rest: Array(bytes[offset...]))
      case .head(let head):
        refusal = HandshakeRefusal(head, parser, rest: Array(bytes[offset...]))
        throw .refused(status: head.statusCode, headers: Self.headers(head))
      case .failure(.dataLengthExceedsMaximum, _): throw Self.tooLong
      case .failure(_, let text): throw .invalidHandshake(reason: text)
      case .interim, .body, .end: break
      }
    }
    size += bytes.count
    guard size <= Self.maximumSize else { throw Self.tooLong }
    return nil
  }

  private static let tooLong = WebSocketError.invalidHandshake(reason: "its head is too long")

  private func agreement(_ head: RawHead, rest: [UInt8]) throws(WebSocketError) -> Agreement {
    // RFC 9112 §2.2: not every recipient takes a line feed alone for the end of a line. Where the head ends, frames begin.
    let hasBareLineFeed = zip(head.bytes, head.bytes.dropFirst()).contains { $1 == 0x0A && $0 != 0x0D }
    guard !hasBareLineFeed, !parser.isSuspicious, head.fields.allSatisfy({ HeaderSyntax.isToken($0.name) }) else {
      throw .invalidHandshake(reason: "a header line is invalid")
    }
    let headers = Self.headers(head)
    guard head.version == "HTTP/1.1", headers["upgrade"]?.lowercased() == "websocket",
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
      headers: headers, cookieLines: head.bytes("set-cookie"), rest: rest)
  }

  private static func headers(_ head: RawHead) -> [String: String] {
    Dictionary(head.fields.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
  }
}

/// A response that refuses the handshake, with the beginning of its body (RFC 9112 §6.3).
struct HandshakeRefusal: Sendable {
  static let limit = 1024
  /// How long to wait for them: they explain the status, which must not be delayed much.
  static let patience = Duration.milliseconds(500)

  let head: ResponseHead
  private var parser: ResponseParser
  private var data = Data()
  private(set) var isComplete = false

  init(_ head: RawHead, _ parser: ResponseParser, rest: [UInt8]) {
    self.head = ResponseHead(head)
    self.parser = parser
    receive(rest)
  }

  /// The response, with what has arrived of its body, as it was sent.
  var response: NetworkResponse { NetworkResponse(CollectedResponse(head: head, data: data)) }

  mutating func receive(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { input in
      var offset = 0
      while !isComplete, let event = parser.next(input, &offset) {
        switch event {
        case .body(let part):
          data.append(contentsOf: part.prefix(Self.limit - data.count))
          isComplete = data.count == Self.limit
        case .end, .failure: isComplete = true
        case .interim, .head: break
        }
      }
    }
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
