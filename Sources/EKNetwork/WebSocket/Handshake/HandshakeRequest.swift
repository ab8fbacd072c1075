import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
      guard HeaderSyntax.isToken(name) else { throw InvalidHeaderError(field: name, reason: .invalidName) }
      guard let value = HeaderSyntax.trimmedValue(value) else {
        throw InvalidHeaderError(field: name, reason: .invalidValue)
      }
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
