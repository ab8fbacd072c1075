import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A subscription over a WebSocket: performs the actions of ``GraphQLSocketState``.
final class GraphQLSocket: GraphQLSource {
  private let socket: WebSocket
  private let state: Locked<GraphQLSocketState>

  private init(_ socket: WebSocket, _ state: GraphQLSocketState) {
    self.socket = socket
    self.state = Locked(state)
  }

  /// Connects, and waits until the server acknowledges the connection. A rejected token is refreshed once.
  static func open(_ client: PrismGraphQLClient, _ query: PrismGraphQLQuery) async throws -> GraphQLSocket {
    let tokens = client.manager.tokens
    let generation = tokens.generation
    do {
      return try await connect(client, query)
    } catch let error as WebSocketError {
      guard error.meansUnauthorized, let refresher = client.manager.tokenRefresher else { throw error.meaning }
      try await tokens.refresh(ifNewerThan: generation, using: refresher)
      do { return try await connect(client, query) } catch let error as WebSocketError { throw error.meaning }
    }
  }

  func next() async throws -> Data? {
    do {
      while let message = try await socket.receive() {
        for action in state.withLock({ $0.received(message.text) }) {
          switch action {
          case .acknowledged: break
          case .send(let text): try await socket.send(text)
          case .deliver(let data): return data
          case .finish:
            socket.abandon(.normalClosure)
            return nil
          case .fail(let error): throw error
          }
        }
      }
    } catch let error as WebSocketError { throw error.meaning }
    // Closed cleanly, but before the server completed the subscription.
    throw URLError(.networkConnectionLost)
  }

  private static func connect(_ client: PrismGraphQLClient, _ query: PrismGraphQLQuery) async throws -> GraphQLSocket {
    let options = client.options
    var request = URLRequest(url: options.webSocketURL ?? client.endpointURL)
    var fields = try HeaderFields(client.additionalHeaders)
    try fields.setBearerToken(options.accessToken?())
    request.allHTTPHeaderFields = fields.fields
    // The token must not go to a server that the manager's own requests would not reach.
    var socketOptions = options.webSocket
    try socketOptions.inherit(client.manager.streamingTransport.connectionSettings)
    try socketOptions.inherit(client.manager.transport.connectionSettings)
    let socket = try await WebSocket.connect(to: request, protocols: ["graphql-transport-ws"], options: socketOptions)
    guard socket.subprotocol == "graphql-transport-ws" else {
      throw PrismGraphQLSubscriptionError.protocolViolation("The server does not speak graphql-transport-ws")
    }
    let source = GraphQLSocket(socket, try GraphQLSocketState(subscribing: GraphQLHTTPRequest.payload(query)))
    try await source.acknowledge(options)
    return source
  }

  private func acknowledge(_ options: PrismGraphQLOptions) async throws {
    try await TimeLimit.run(
      options.acknowledgementTimeout, clock: options.webSocket.clock,
      error: PrismGraphQLSubscriptionError.notAcknowledged, stop: socket.cancel
    ) {
      let payload = options.connectionPayload?()
      if case .send(let text) = try state.withLock({ try $0.opened(payload) }) {
        try await socket.send(text)
      }
      while let message = try await socket.receive() {
        for action in state.withLock({ $0.received(message.text) }) {
          switch action {
          case .send(let text): try await socket.send(text)
          case .fail(let error): throw error
          case .acknowledged, .deliver, .finish: break
          }
        }
        if state.withLock({ $0.isAcknowledged }) { return }
      }
      // Closed cleanly, by this side or by a server that rejects the connection.
      throw PrismGraphQLSubscriptionError.notAcknowledged
    }
  }
}

extension WebSocketMessage {
  fileprivate var text: String {
    switch self {
    case .text(let text): text
    case .binary(let data): String(decoding: data, as: UTF8.self)
    }
  }
}

extension WebSocketError {
  /// Whether the handshake failed with status 401, or the server closed the connection with the protocol's code 4401.
  fileprivate var meansUnauthorized: Bool {
    switch self {
    case .refused(401, _): true
    case .closed(let code, _): code.rawValue == 4401
    default: false
    }
  }

  /// The error that a subscription throws for it.
  fileprivate var meaning: any Error {
    switch self {
    case .refused(let status, let headers):
      PrismNetworkFailure(PrismNetworkError(status: status), because: self, statusCode: status, headers: headers)
    case .closed(let code, let reason):
      switch code.rawValue {
      case 4401: PrismNetworkFailure(.unauthorized, because: self)
      case 4403: PrismNetworkFailure(.forbidden, because: self)
      case 4400, 4406, 4409, 4429: PrismGraphQLSubscriptionError.protocolViolation("\(code.rawValue) \(reason)")
      default: PrismNetworkFailure(.noConnectivity, because: self)
      }
    case .invalidURL: PrismNetworkFailure(.invalidURL, because: self)
    case .timedOut, .connectionLost: PrismNetworkFailure(.noConnectivity, because: self)
    default: PrismNetworkFailure(.invalidResponse, because: self)
    }
  }
}
