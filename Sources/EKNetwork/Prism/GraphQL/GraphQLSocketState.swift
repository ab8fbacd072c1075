import Foundation

/// The state of one subscription on one WebSocket, by the rules of `graphql-transport-ws`. A value without side
/// effects: it decides which actions its owner performs.
struct GraphQLSocketState {
  enum Action: Equatable {
    case send(String)
    /// A message whose payload is a result.
    case deliver(Data)
    /// The server acknowledged the connection.
    case acknowledged
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

  private struct Errors: Decodable {
    let payload: [PrismGraphQLError]
  }

  private struct Initialisation: Encodable {
    let type = "connection_init"
    let payload: [String: PrismGraphQLValue]?
  }

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

  func opened(_ payload: [String: PrismGraphQLValue]?) throws -> Action {
    .send(try Self.text(Initialisation(payload: payload)))
  }

  mutating func received(_ text: String) -> [Action] {
    guard phase != .over else { return [] }
    let data = Data(text.utf8)
    guard let message = try? JSONDecoder().decode(Message.self, from: data) else { return violation("no message") }
    switch message.type {
    case "connection_ack":
      guard phase == .connecting else { return violation("a second acknowledgement") }
      phase = .subscribed
      return [.acknowledged, .send(subscribe)]
    case "ping": return [.send(#"{"type":"pong"}"#)]
    case "pong": return []
    case "next", "error", "complete":
      guard phase == .subscribed else { return violation("\(message.type) before the acknowledgement") }
      // Ignored: there is no other subscription on the connection.
      guard message.id == Self.id else { return [] }
    default: return violation("a message of the type \(message.type.prefix(40))")
    }
    switch message.type {
    case "next":
      guard case .object? = message.payload else { return violation("next without a result") }
      return [.deliver(data)]
    case "error":
      phase = .over
      guard let errors = try? JSONDecoder().decode(Errors.self, from: data).payload else {
        return [.fail(.protocolViolation("error without errors"))]
      }
      return [.fail(.rejected(errors))]
    default:
      phase = .over
      return [.finish]
    }
  }

  private mutating func violation(_ what: String) -> [Action] {
    phase = .over
    return [.fail(.protocolViolation("The server sent \(what)"))]
  }

  private static func text(_ message: some Encodable) throws -> String {
    String(decoding: try GraphQLHTTPRequest.encoder.encode(message), as: UTF8.self)
  }
}
