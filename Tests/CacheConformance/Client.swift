import EKNetwork
import Foundation

/// A response with the parts that the suite examines.
struct SuiteResponse: Decodable, Sendable {
  var status = 0
  /// The header fields, by lowercased name.
  var fields: [String: String] = [:]
  var body = Data()

  func has(_ name: String) -> Bool { fields[name.lowercased()] != nil }
  func get(_ name: String) -> String? { fields[name.lowercased()] }

  var text: String { String(decoding: body, as: UTF8.self) }
}

/// One request of a test.
struct SuiteRequest: NetworkRequest {
  typealias Response = SuiteResponse

  var path: String
  var queryParameters: [String: String]?
  var methodName = "GET"
  var headers: [String: String]?
  var content: String?
  var cacheMode = CacheMode.default

  // Methods that the enumeration lacks are given by `methodName`.
  var method: HTTPMethod { HTTPMethod(rawValue: methodName) ?? .post }
  var timeout: Duration? { .seconds(10) }
  // `fetch` returns a body with an unknown coding unchanged. None of the suite's bodies has a known one.
  var decodesContent: Bool { false }
  var body: RequestBody? {
    content.map { RequestBody(data: Data($0.utf8), contentType: "text/plain;charset=UTF-8") }
  }

  func decodeResponse(data: Data, response: URLResponse) throws -> SuiteResponse {
    guard let http = response as? HTTPURLResponse else { throw NetworkError.invalidResponse }
    var fields: [String: String] = [:]
    for (name, value) in http.allHeaderFields { fields["\(name)".lowercased()] = "\(value)" }
    return SuiteResponse(status: http.statusCode, fields: fields, body: data)
  }
}

/// Sends the requests of the suite: those of the tests through the cache, control requests without it.
struct Client: Sendable {
  private let cached: NetworkManager
  private let direct: NetworkManager

  init(_ url: URL, cache: HTTPCache) {
    cached = Self.manager(url)
    direct = Self.manager(url)
    cached.httpCache = cache
  }

  private static func manager(_ url: URL) -> NetworkManager {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 200
    // Like `fetch` in Node, the reference: the cookies of one test must not be sent with the requests of another.
    configuration.httpCookieStorage = nil
    return NetworkManager(baseURL: url, session: URLSession(configuration: configuration))
  }

  /// Sends a request through the cache. Like with `fetch`, a status outside 2xx is not an error.
  func send(_ request: SuiteRequest) async throws -> SuiteResponse { try await Self.send(request, cached) }

  func put(_ config: JSON, as identifier: String) async throws {
    let content = String(decoding: try JSONEncoder().encode(config), as: UTF8.self)
    let response = try await Self.send(
      SuiteRequest(
        path: "/config/\(identifier)", methodName: "PUT", headers: ["Content-Type": "application/json"],
        content: content), direct)
    guard response.status == 201 else { throw Failure.setup("PUT config resulted in \(response.status)") }
  }

  func state(of identifier: String) async throws -> [JSON] {
    let response = try await Self.send(SuiteRequest(path: "/state/\(identifier)"), direct)
    guard response.status == 200 else { return [] }
    return try JSONDecoder().decode(JSON.self, from: response.body).array
  }

  private static func send(_ request: SuiteRequest, _ manager: NetworkManager) async throws -> SuiteResponse {
    do {
      return try await manager.send(request)
    } catch let error as HTTPError {
      var fields: [String: String] = [:]
      for (name, value) in error.headers { fields[name.lowercased()] = value }
      return SuiteResponse(status: error.statusCode, fields: fields, body: error.data)
    }
  }
}
