import Foundation

/// A subscription over a WebSocket: performs the actions of ``GraphQLSocketState``.
final class GraphQLSocket: GraphQLSource {
  private let socket: WebSocket
  private let url: URL
  private let state: Locked<GraphQLSocketState>

  private init(_ socket: WebSocket, _ url: URL, _ state: GraphQLSocketState) {
    self.socket = socket
    self.url = url
    self.state = Locked(state)
  }

  /// Connects, and waits until the server acknowledges the connection. A rejected token is refreshed once.
  static func open(_ client: PrismGraphQLClient, _ query: PrismGraphQLQuery) async throws -> GraphQLSocket {
    let tokens = client.manager.tokens
    let generation = tokens.generation
    let url = client.options.webSocketURL ?? client.endpointURL
    let refusal = Locked<NetworkResponse?>(nil)
    do {
      return try await connect(client, query, to: url, refusal)
    } catch let error as WebSocketError {
      guard error.meansUnauthorized, let refresher = client.manager.tokenRefresher else {
        throw error.meaning(at: url, refusal.withLock { $0 })
      }
      let challenge = refusal.withLock { $0 } ?? NetworkResponse(statusCode: 401)
      try await tokens.refresh(ifNewerThan: generation, using: refresher, after: challenge)
      do { return try await connect(client, query, to: url, refusal) } catch let error as WebSocketError {
        throw error.meaning(at: url, refusal.withLock { $0 })
      }
    }
  }

  func next() async throws -> Data? {
    do {
      while let message = try await socket.receive() {
        switch state.withLock({ $0.received(message.text) }) {
        case nil: break
        case .send(let pong)?:
          // The results that arrived before the connection ended are still to be read; its end comes after them.
          do { try await socket.send(pong) } catch is WebSocketError {}
        case .deliver(let data)?: return data
        case .finish?:
          socket.connection.abandon(.normalClosure)
          return nil
        case .fail(let error)?: throw error
        }
      }
    } catch let error as WebSocketError { throw error.meaning(at: url) }
    // Closed cleanly, but before the server completed the subscription.
    throw URLError(.networkConnectionLost)
  }

  private static func connect(
    _ client: PrismGraphQLClient, _ query: PrismGraphQLQuery, to url: URL, _ refusal: Locked<NetworkResponse?>
  ) async throws -> GraphQLSocket {
    let options = client.options
    var request = URLRequest(url: url)
    var fields = try HeaderFields(client.additionalHeaders)
    let token = options.token
    try await token.renewal?.obtain()
    try fields.setBearerToken(token.read?())
    request.allHTTPHeaderFields = fields.fields
    // The token must not go to a server that the manager's own requests would not reach.
    var socketOptions = options.webSocket
    socketOptions.keepRefusal(in: refusal)
    try socketOptions.inherit(client.manager.streamingTransport.connectionSettings)
    try socketOptions.inherit(client.manager.transport.connectionSettings)
    let socket = try await WebSocket.connect(to: request, protocols: ["graphql-transport-ws"], options: socketOptions)
    guard socket.subprotocol == "graphql-transport-ws" else {
      throw PrismGraphQLSubscriptionError.protocolViolation("The server does not speak graphql-transport-ws")
    }
    let source = GraphQLSocket(socket, url, try GraphQLSocketState(subscribing: GraphQLHTTPRequest.payload(query)))
    try await source.acknowledge(options)
    return source
  }

  private func acknowledge(_ options: PrismGraphQLOptions) async throws {
    try await TimeLimit.run(
      options.acknowledgementTimeout, clock: options.webSocket.clock,
      error: PrismGraphQLSubscriptionError.notAcknowledged, stop: socket.connection.cancel
    ) {
      try await socket.send(try GraphQLSocketState.initialisation(options.connectionPayload?()))
      while let message = try await socket.receive() {
        switch state.withLock({ $0.received(message.text) }) {
        case .send(let text)?: try await socket.send(text)
        case .fail(let error)?: throw error
        case .deliver?, .finish?, nil: break
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

  /// - Parameter refusal: The response that refused the handshake.
  fileprivate func meaning(at url: URL, _ refusal: NetworkResponse? = nil) -> any Error {
    guard case .closed(let code, let reason) = self else { return PrismNetworkFailure(self, url: url, refusal) }
    switch code.rawValue {
    case 4401: return PrismNetworkFailure(.unauthorized, because: self, url: url)
    case 4403: return PrismNetworkFailure(.forbidden, because: self, url: url)
    case 4400, 4406, 4409, 4429: return PrismGraphQLSubscriptionError.protocolViolation("\(code.rawValue) \(reason)")
    default: return PrismNetworkFailure(.noConnectivity, because: self, url: url)
    }
  }
}

/// The state of one subscription on one WebSocket, by the rules of `graphql-transport-ws`. A value without side
/// effects: it decides which actions its owner performs.
struct GraphQLSocketState {
  enum Action: Equatable {
    case send(String)
    /// A message whose payload is a result.
    case deliver(Data)
    case finish
    case fail(PrismGraphQLSubscriptionError)
  }

  private enum Phase {
    case connecting
    case subscribed
    case over
  }

  private struct Message: Decodable {
    let type: String
    let id: String?
    let payload: PrismGraphQLValue?
  }

  private struct Errors: Decodable { let payload: [PrismGraphQLError] }

  private struct Subscribe<Payload: Encodable>: Encodable {
    let id: String
    let type = "subscribe"
    let payload: Payload
  }

  /// The identifier of the only subscription on the connection.
  private static let id = "1"

  private let subscribe: String
  private var phase = Phase.connecting

  init(subscribing payload: some Encodable) throws {
    subscribe = try Self.text(Subscribe(id: Self.id, payload: payload))
  }

  var isAcknowledged: Bool { phase != .connecting }

  static func initialisation(_ payload: [String: PrismGraphQLValue]?) throws -> String {
    var message: [String: PrismGraphQLValue] = ["type": "connection_init"]
    message["payload"] = payload.map { .object($0) }
    return try text(message)
  }

  mutating func received(_ text: String) -> Action? {
    guard phase != .over else { return nil }
    let data = Data(text.utf8)
    guard let message = try? JSONDecoder().decode(Message.self, from: data) else { return violation("no message") }
    switch message.type {
    case "connection_ack":
      guard phase == .connecting else { return violation("a second acknowledgement") }
      phase = .subscribed
      return .send(subscribe)
    case "ping": return .send(#"{"type":"pong"}"#)
    case "pong": return nil
    case "next", "error", "complete":
      guard phase == .subscribed else { return violation("\(message.type) before the acknowledgement") }
      // Ignored: there is no other subscription on the connection.
      guard message.id == Self.id else { return nil }
    default: return violation("a message of the type \(message.type.prefix(40))")
    }
    switch message.type {
    case "next":
      guard case .object? = message.payload else { return violation("next without a result") }
      return .deliver(data)
    case "error":
      phase = .over
      guard let errors = try? JSONDecoder().decode(Errors.self, from: data).payload else {
        return .fail(.protocolViolation("error without errors"))
      }
      return .fail(.rejected(errors))
    default:
      phase = .over
      return .finish
    }
  }

  private mutating func violation(_ what: String) -> Action {
    phase = .over
    return .fail(.protocolViolation("The server sent \(what)"))
  }

  private static func text(_ message: some Encodable) throws -> String {
    String(decoding: try EndpointBody.encoder.encode(message), as: UTF8.self)
  }
}
