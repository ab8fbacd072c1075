import EKNetwork

#if canImport(Darwin)
  import Network
#endif

/// An endpoint on this machine.
struct SocketEndpoint: PrismNetworkSocketEndpoint {
  let number: UInt16
  var isWebSocket = true
  var path = "/"
  var headers: [String: String] = [:]
  /// In seconds.
  var connectionTimeout = 0
  var maximumMessageSize = 0

  var host: NWEndpoint.Host { "127.0.0.1" }
  var port: NWEndpoint.Port { NWEndpoint.Port(rawValue: number) ?? .https }
  var parameters: NWParameters {
    let tcp = NWProtocolTCP.Options()
    tcp.connectionTimeout = connectionTimeout
    let parameters = NWParameters(tls: nil, tcp: tcp)
    if isWebSocket {
      let options = NWProtocolWebSocket.Options()
      options.maximumMessageSize = maximumMessageSize
      parameters.defaultProtocolStack.applicationProtocols.insert(options, at: 0)
    }
    return parameters
  }
}
