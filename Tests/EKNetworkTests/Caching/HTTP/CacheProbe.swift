import LoopbackServer

@testable import EKNetwork

/// A request that returns status, header fields and text undecoded.
struct CacheProbe: NetworkRequest {
  struct Response: Decodable, Sendable {
    var status = 0
    var fields: [String: String] = [:]
    var text = ""

    /// The value of `Cache-Status`.
    var cacheStatus: String { fields.first { $0.key.lowercased() == "cache-status" }?.value ?? "" }
    var isHit: Bool { cacheStatus.contains("EKNetwork; hit") }
  }

  var path = "/a"
  var method = HTTPMethod.get
  var headers: [String: String]?
  var body: RequestBody?
  var cacheMode = CacheMode.default
  var redirectPolicy = RedirectPolicy.follow
  var maximumResponseSize: Int64?
  var timeout: Duration?
  var progress: NetworkProgress?
  var credential: PasswordCredential?
  var decodesContent = true

  func decodeResponse(data: Data, response: URLResponse) throws -> Response {
    let http = response as? HTTPURLResponse
    return Response(
      status: http?.statusCode ?? 0, fields: http?.headerDictionary ?? [:], text: String(decoding: data, as: UTF8.self))
  }
}

/// A date that a test advances.
final class TestDate: Sendable {
  private let date = Locked(Date())
  var now: @Sendable () -> Date { { [date] in date.withLock { $0 } } }
  func advance(by seconds: Double) { date.withLock { $0 += seconds } }
}

/// A server, and a manager with a cache.
struct CacheBench {
  let server: LoopbackServer
  let date = TestDate()
  let cache: HTTPCache
  let manager: NetworkManager

  init(_ wire: Wire = .automatic, memory: Int = 1_000_000) throws {
    server = try LoopbackServer()
    cache = HTTPCache(memoryCapacity: memory, now: date.now)
    manager = wire.manager(server)
    manager.httpCache = cache
  }

  /// Responds with the number of the request as text.
  func answerInTurn(_ headers: [String: String]) { answerInTurn("/a", headers) }

  func answerInTurn(_ path: String, _ headers: [String: String]) {
    let count = Locked(0)
    server.route(path) { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return headers.reduce(.text("\(number)")) { $0.header($1.key, $1.value) }
    }
  }

  func send(_ probe: CacheProbe = CacheProbe(), token: String? = nil) async throws -> CacheProbe.Response {
    try await manager.send(probe, accessToken: token.map { token in { token } })
  }
}
