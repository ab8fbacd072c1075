import EKNetwork
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the HTTP cache costs, in microseconds per call, one call after the other: against the server on loopback, and
/// against decoding alone; and with that many entries, over a session that responds at once.
struct HTTPCacheCost: Encodable {
  var decode = 0.0
  var send = 0.0
  var sendPastCache = 0.0
  var memoryHit = 0.0
  var diskHit = 0.0
  /// By the number of entries.
  var hitAmong: [Int: Double] = [:]
  var missAndInsertAmong: [Int: Double] = [:]

  private struct Cached: NetworkRequest {
    typealias Response = Item
    let path: String
    var cacheMode = CacheMode.forceCache
    let method = HTTPMethod.get
  }

  private final class Instant: URLSessionProtocol, Sendable {
    let body: Data
    init(_ body: Data) { self.body = body }
    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      guard let url = request.url,
        let response = HTTPURLResponse(
          url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Cache-Control": "max-age=86400"])
      else { throw URLError(.badURL) }
      return (body, response)
    }
  }

  static func measure(_ url: URL) async throws -> HTTPCacheCost {
    var cost = HTTPCacheCost()
    let path = url.path
    let base = url.deletingLastPathComponent()
    let plain = NetworkManager(baseURL: base, session: URLSession(configuration: .ephemeral))
    let cached = NetworkManager(baseURL: base, session: URLSession(configuration: .ephemeral))
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    cached.httpCache = HTTPCache()
    cost.send = try await time(4_000) { _ in _ = try await plain.send(Cached(path: path)) }
    cost.sendPastCache = try await time(4_000) { _ in _ = try await cached.send(Cached(path: path, cacheMode: .noStore))
    }
    cost.memoryHit = try await time(40_000) { _ in _ = try await cached.send(Cached(path: path)) }
    cached.httpCache = HTTPCache(memoryCapacity: 0, directory: folder)
    cost.diskHit = try await time(10_000) { _ in _ = try await cached.send(Cached(path: path)) }
    let body = Data(#"{"id":12345,"name":"a teapot of fine porc","price":12.50}"#.utf8)
    let decoder = JSONDecoder()
    cost.decode = try await time(40_000) { _ in _ = try decoder.decode(Item.self, from: body) }
    for entries in [1_000, 100_000] {
      let manager = NetworkManager(baseURL: base, session: Instant(body))
      manager.httpCache = HTTPCache(memoryCapacity: 1 << 30)
      cost.missAndInsertAmong[entries] = try await time(entries) { index in
        _ = try await manager.send(Cached(path: "/\(index)"))
      }
      cost.hitAmong[entries] = try await time(40_000) { _ in
        _ = try await manager.send(Cached(path: "/\(Int.random(in: 0..<entries))"))
      }
    }
    return cost
  }

  private static func time(_ count: Int, _ call: (Int) async throws -> Void) async throws -> Double {
    let start = ContinuousClock.now
    for index in 0..<count { try await call(index) }
    return (ContinuousClock.now - start) / .microseconds(count)
  }
}
