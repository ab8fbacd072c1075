import EKNetwork

#if canImport(Darwin)
  import Network
#endif

/// The endpoint of the example client, on this machine and without TLS.
struct ChatSocketEndpoint: PrismNetworkSocketEndpoint {
  let number: UInt16

  var host: NWEndpoint.Host { "127.0.0.1" }
  var port: NWEndpoint.Port {
    get throws {
      guard let port = NWEndpoint.Port(rawValue: number) else { throw PrismNetworkError.invalidURL }
      return port
    }
  }
  var parameters: NWParameters {
    let parameters = NWParameters.tcp
    parameters.defaultProtocolStack.applicationProtocols.insert(NWProtocolWebSocket.Options(), at: 0)
    return parameters
  }
  var path: String { "/chat" }
}
