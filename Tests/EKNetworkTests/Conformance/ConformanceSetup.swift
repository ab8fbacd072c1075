#if os(Linux)
  import EKNetwork
  import FoundationNetworking
  import LoopbackServer

  /// A request as the server received it, which is what the server sends back.
  struct ReceivedRequest: Codable, Equatable, Sendable {
    struct Pair: Codable, Hashable, Sendable {
      var name: String
      var value: String
    }

    var method: String
    var fields: [Pair]
    var query: [Pair]
    var body: String

    init(_ request: LoopbackServer.Request) {
      method = request.method
      fields = request.headers.map { Pair(name: $0.name, value: $0.value) }
      query = request.queryItems.map { Pair(name: $0.name, value: $0.value ?? "") }
      body = request.text
    }

    /// The members of a field that is a list: one line with commas means the same as several lines (RFC 9110, section
    /// 5.3).
    func members(of name: String) -> [String] {
      fields.filter { $0.name == name }.flatMap { $0.value.components(separatedBy: ",") }
        .map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  struct ConformanceRequest: NetworkRequest {
    typealias Response = ReceivedRequest
    var path = "/request"
    var method = HTTPMethod.get
    var headers: [String: String]?
    var orderedQuery: [URLQueryItem]?
    var body: RequestBody?
  }

  /// A server and a client of it that has its own cookies and connections.
  struct ConformanceSetup {
    let server: LoopbackServer
    let manager: NetworkManager

    init() throws {
      server = try LoopbackServer()
      manager = NetworkManager(baseURL: server.baseURL, session: URLSession(configuration: .ephemeral))
      server.route("/request") { .json(ReceivedRequest($0)) }
      server.route("/echo") { .data($0.body) }
    }
  }
#endif
