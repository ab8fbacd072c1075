import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(Darwin)
  import Network
#endif

/// A snapshot of an endpoint's properties, each read once.
struct SocketDestination: Sendable {
  let host: String
  let port: Int
  let isSecure: Bool
  let isWebSocket: Bool
  let path: String
  let headers: [String: String]
  let subprotocols: [String]
  #if canImport(Darwin)
    let parameters: SocketParameters
  #else
    /// The timeout of the parameters in seconds; 0 for none. On Apple platforms the system applies it.
    let connectTimeout: Int
  #endif
  /// The maximum message size of the parameters; 0 for no limit.
  let maximumMessageSize: Int

  init(_ endpoint: any PrismNetworkSocketEndpoint) throws {
    host = endpoint.host.debugDescription
    port = Int(try endpoint.port.rawValue)
    let given = endpoint.parameters
    let protocols = given.defaultProtocolStack.applicationProtocols
    isSecure = protocols.contains { $0 is NWProtocolTLS.Options }
    let webSocket = protocols.lazy.compactMap { $0 as? NWProtocolWebSocket.Options }.first
    isWebSocket = webSocket != nil
    maximumMessageSize = webSocket?.maximumMessageSize ?? 0
    #if canImport(Darwin)
      parameters = SocketParameters(given)
    #else
      let transport = given.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options
      connectTimeout = transport?.connectionTimeout ?? 0
    #endif
    path = endpoint.path
    headers = endpoint.headers
    subprotocols = endpoint.subprotocols
  }

  func address(_ options: WebSocketOptions) throws -> ByteTransportEndpoint {
    guard HostSyntax.isValid(host), port > 0 else { throw PrismNetworkError.invalidURL }
    return try ByteTransportEndpoint(host: host, port: port, isSecure: isSecure, options: options)
  }

  /// Returns the options, completed with the endpoint's parameters.
  func applied(to options: WebSocketOptions) -> WebSocketOptions {
    var options = options
    #if canImport(Darwin)
      options.parameters = parameters
    #else
      if connectTimeout > 0 { options.connectTimeout = min(options.connectTimeout, .seconds(connectTimeout)) }
    #endif
    if maximumMessageSize > 0 { options.maximumMessageSize = min(options.maximumMessageSize, maximumMessageSize) }
    return options
  }

  /// The address for a log: the URL of a WebSocket, or the host and port of a connection for lines.
  var redactedForLog: String? {
    if isWebSocket { return (try? request())?.url?.redactedForLog }
    return HostSyntax.isValid(host) ? "\(isSecure ? "tls" : "tcp")://\(bracketedHost):\(port)" : nil
  }

  private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }

  func request() throws -> URLRequest {
    let name = bracketedHost
    let slash = path.hasPrefix("/") ? "" : "/"
    guard !host.isEmpty, port > 0,
      let url = URL(string: "\(isSecure ? "wss" : "ws")://\(name):\(port)\(slash)\(path)"),
      url.host != nil, url.port == port, url.user == nil
    else { throw PrismNetworkError.invalidURL }
    var request = URLRequest(url: url)
    // Set all at once: the setter for one field silently drops an invalid value.
    request.allHTTPHeaderFields = try HeaderFields(headers).fields
    return request
  }
}
