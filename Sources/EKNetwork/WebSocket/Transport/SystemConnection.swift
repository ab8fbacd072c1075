#if canImport(Darwin)
  import Dispatch
  import Foundation
  import Network
  import Security

  final class SystemConnection: NetworkConnection {
    private let connection: NWConnection
    private let queue = DispatchQueue(label: "EKNetwork.WebSocket")

    /// - Parameters:
    ///   - parameters: The caller's parameters, or `nil` for TCP or TLS with `noDelay`.
    ///   - tls: Options for which servers to trust, which override the parameters.
    init(_ address: ByteTransportEndpoint, _ parameters: SocketParameters?, tls: TLSOptions? = nil) {
      // Connections of the same options share their parameters, but not the rule of whom to trust.
      let given =
        parameters.map { tls == nil ? $0 : SocketParameters($0.parameters) }
        ?? SocketParameters(isSecure: address.isSecure)
      if let tls { given.trust(tls, on: queue) }
      let port = NWEndpoint.Port(rawValue: UInt16(clamping: address.port)) ?? .https
      let host = NWEndpoint.hostPort(host: NWEndpoint.Host(address.host), port: port)
      connection = NWConnection(to: address.route.socketPath.map { .unix(path: $0) } ?? host, using: given.parameters)
    }

    func start(_ handler: @escaping @Sendable (NetworkConnectionUpdate) -> Void) {
      connection.stateUpdateHandler = { state in
        switch state {
        case .ready: handler(.ready)
        case .waiting(let error): handler(.waiting(NetworkConnectionFailure(error), error.debugDescription))
        case .failed(let error): handler(.failed(NetworkConnectionFailure(error), error.debugDescription))
        case .cancelled: handler(.cancelled)
        default: break
        }
      }
      connection.start(queue: queue)
    }

    func receive(
      maximumLength: Int, _ completion: @escaping @Sendable (Data?, Bool, NetworkConnectionFailure?) -> Void
    ) {
      connection.receive(minimumIncompleteLength: 1, maximumLength: maximumLength) { data, _, isComplete, error in
        completion(data, isComplete, error.map(NetworkConnectionFailure.init))
      }
    }

    func send(_ data: Data, _ completion: @escaping @Sendable (NetworkConnectionFailure?) -> Void) {
      connection.send(
        content: data, completion: .contentProcessed { completion($0.map(NetworkConnectionFailure.init)) })
    }

    func cancel() { connection.cancel() }
  }

  /// The parameters of a connection.
  ///
  /// Sendable, unchecked: a private copy of the caller's parameters, not changed once a second thread may use it.
  struct SocketParameters: @unchecked Sendable {
    let parameters: NWParameters

    /// Copies the caller's parameters without the WebSocket protocol, which the library implements itself. TLS options
    /// with their verify block, TCP timeouts, interfaces and the rest are kept.
    init(_ parameters: NWParameters) {
      self.parameters = parameters.copy()
      let stack = self.parameters.defaultProtocolStack
      stack.applicationProtocols.removeAll { $0 is NWProtocolWebSocket.Options }
    }

    init(isSecure: Bool) {
      let tcp = NWProtocolTCP.Options()
      // Frames are small, and must not be delayed until the next one.
      tcp.noDelay = true
      parameters = NWParameters(tls: isSecure ? NWProtocolTLS.Options() : nil, tcp: tcp)
    }

    func trust(_ options: TLSOptions, on queue: DispatchQueue) {
      let trust = ServerTrust(options: options)
      let protocols = parameters.defaultProtocolStack.applicationProtocols
      // Set again: whether those of a stack are its own or copies is not documented, and copies would trust any key.
      defer { parameters.defaultProtocolStack.applicationProtocols = protocols }
      for case let tls as NWProtocolTLS.Options in protocols {
        if let minimum = options.minimumVersion {
          sec_protocol_options_set_min_tls_protocol_version(
            tls.securityProtocolOptions, minimum == .tls12 ? .TLSv12 : .TLSv13)
        }
        sec_protocol_options_set_verify_block(
          tls.securityProtocolOptions,
          { _, chain, complete in
            complete(trust.verdict(on: sec_trust_copy_ref(chain).takeRetainedValue()) == .trusted)
          }, queue)
      }
    }
  }

  extension NetworkConnectionFailure {
    init(_ error: NWError) {
      switch error {
      case .posix(let code): self = .posix(code)
      case .dns(let code): self = .dns(code)
      case .tls(let status): self = .tls(status)
      @unknown default: self = .other
      }
    }
  }
#endif
