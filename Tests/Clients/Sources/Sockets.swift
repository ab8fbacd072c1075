import EKNetwork

#if canImport(Darwin)
  import Network
#endif

// A socket client as in apps.

enum RoomEndpoint: PrismNetworkSocketEndpoint {
  case production
  case local

  var host: NWEndpoint.Host {
    switch self {
    case .production: return "rooms.store.com"
    case .local: return "localhost"
    }
  }
  var port: NWEndpoint.Port {
    get throws {
      switch self {
      case .production: return .https
      case .local: return 8443
      }
    }
  }
  var parameters: NWParameters {
    let parameters = NWParameters(tls: NWProtocolTLS.Options())
    parameters.defaultProtocolStack.applicationProtocols.insert(NWProtocolWebSocket.Options(), at: 0)
    return parameters
  }
}

enum RoomCommand: PrismNetworkSocketCommand {
  case join(String)

  var message: String {
    switch self {
    case .join(let room): return #"{"join":"\#(room)"}"#
    }
  }
}

struct RoomRequest: PrismNetworkSocketRequest {
  let endpoint: (any PrismNetworkSocketEndpoint)?

  init(environment: RoomEndpoint = .production) {
    self.endpoint = environment
  }
}

struct RoomMessage: PrismEntity {
  let text: String
}

actor RoomClient {
  private let socket = PrismNetworkSocketAdapter()
  private var handler: ((RoomMessage) -> Void)?

  func onMessage(_ handler: @escaping @Sendable (RoomMessage) -> Void) { self.handler = handler }

  func enter(_ room: String) async throws {
    let stream = try await socket.connect(with: RoomRequest(environment: .local))
    Task {
      for await data in stream {
        if let message = try? JSONDecoder().decode(RoomMessage.self, from: data) { handler?(message) }
      }
    }
    try await socket.send(command: RoomCommand.join(room))
  }
}

@MainActor final class RoomModel {
  private let socket: any PrismNetworkSocketClient = PrismNetworkSocketAdapter()
  private(set) var messages: [RoomMessage] = []

  func enter(_ room: String) async throws {
    let stream = try await socket.connect(with: RoomRequest())
    try await socket.send(command: RoomCommand.join(room))
    for await data in stream { messages.append(try JSONDecoder().decode(RoomMessage.self, from: data)) }
  }
}
