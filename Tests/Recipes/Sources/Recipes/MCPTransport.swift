import EKNetwork
import Logging
import MCP

/// The client's side of MCP's streamable HTTP transport (revision 2025-06-18): each message is a POST, answered by a message or
/// a stream of them, and a GET receives what the server sends of its own accord.
actor MCPTransport: Transport {
  nonisolated let logger: Logger
  private let manager: NetworkManager
  private let messages: AsyncThrowingStream<Data, any Error>
  private let input: AsyncThrowingStream<Data, any Error>.Continuation
  private var session: String?
  private var isListening = false
  private var tasks: [Task<Void, Never>] = []

  /// - Parameter endpoint: The server's only URL.
  init(endpoint: URL, logger: Logger = Logger(label: "mcp")) {
    self.logger = logger
    // Its cookies are its own.
    manager = NetworkManager(baseURL: endpoint, session: URLSession(configuration: .ephemeral))
    (messages, input) = AsyncThrowingStream.makeStream()
  }

  func connect() {}

  func receive() -> AsyncThrowingStream<Data, any Error> { messages }

  func send(_ data: Data) async throws {
    let response = try await manager.stream(Message(data: data, session: session))
    if let session = response.value(forHTTPHeaderField: "Mcp-Session-Id") { self.session = session }
    switch response.value(forHTTPHeaderField: "Content-Type")?.prefix(while: { $0 != ";" }) {
    case "text/event-stream":
      // The answer may be long in coming: meanwhile other messages are sent.
      forward { input in
        for try await event in response.body.events() where !event.data.isEmpty { input.yield(Data(event.data.utf8)) }
      }
    case "application/json":
      var message = Data()
      for try await piece in response.body { message += piece }
      input.yield(message)
    default: listen()
    }
  }

  func disconnect() async {
    tasks.forEach { $0.cancel() }
    tasks = []
    if let session { _ = try? await manager.send(End(session: session)) }
    session = nil
    input.finish()
  }

  /// Begins to listen once the server knows the client: when it has accepted the first notification. A stream that breaks off is
  /// continued after its last event; a server without one responds with 405.
  private func listen() {
    guard !isListening else { return }
    isListening = true
    let request = Listen(session: session)
    forward { [manager] input in
      for try await event in manager.events(request) where !event.data.isEmpty { input.yield(Data(event.data.utf8)) }
    }
  }

  private func forward(
    _ read: @escaping @Sendable (AsyncThrowingStream<Data, any Error>.Continuation) async throws -> Void
  ) {
    tasks.append(
      Task { [input, logger] in
        do { try await read(input) } catch { logger.debug("An MCP stream has ended", metadata: ["error": "\(error)"]) }
      })
  }

  private struct Message: NetworkRequest {
    typealias Response = EmptyResponse
    let data: Data
    let session: String?
    var path: String { "" }
    var method: HTTPMethod { .post }
    var headers: [String: String]? { MCPTransport.fields(session, accept: "application/json, text/event-stream") }
    var body: RequestBody? { RequestBody(data: data, contentType: "application/json") }
  }

  private struct Listen: NetworkRequest, Sendable {
    typealias Response = EmptyResponse
    let session: String?
    var path: String { "" }
    var method: HTTPMethod { .get }
    var headers: [String: String]? { MCPTransport.fields(session, accept: "text/event-stream") }
  }

  private struct End: NetworkRequest {
    typealias Response = StatusCodeResponse
    let session: String?
    var path: String { "" }
    var method: HTTPMethod { .delete }
    var headers: [String: String]? { MCPTransport.fields(session, accept: "application/json") }
  }

  private static func fields(_ session: String?, accept: String) -> [String: String] {
    var fields = ["Accept": accept, "MCP-Protocol-Version": "2025-06-18"]
    fields["Mcp-Session-Id"] = session
    return fields
  }
}
