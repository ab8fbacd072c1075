import EKNetwork
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cost of the HTTP cache in microseconds per sequential call, compared with the server on loopback and with
/// decoding alone; and by the number of entries, over a session that responds at once.
struct HTTPCacheCost: Encodable {
  var decode = 0.0
  var send = 0.0
  var sendPastCache = 0.0
  var memoryHit = 0.0
  var diskHit = 0.0
  /// The cost of an insertion into memory, by the number of entries.
  var memoryInsertAmong: [Int: Double] = [:]
  var memoryHitAmong: [Int: Double] = [:]
  var diskInsertAmong: [Int: Double] = [:]
  var diskHitAmong: [Int: Double] = [:]
  /// The time from creating a cache over a directory with 100,000 entries to its first hit, in milliseconds.
  var opening = 0.0
  /// The throughput of streaming a stored body of 1 GiB from disk, in megabytes per second.
  var streaming = 0.0
  var streamingGrowth = 0.0

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

  private let base: URL
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID().uuidString)")

  private enum CodingKeys: CodingKey {
    case decode, send, sendPastCache, memoryHit, diskHit, memoryInsertAmong, memoryHitAmong, diskInsertAmong
    case diskHitAmong, opening, streaming, streamingGrowth
  }

  /// - Parameter base: The URL of the directory with `item.json` and `gib`.
  static func measure(_ base: URL) async throws -> HTTPCacheCost {
    var cost = HTTPCacheCost(base: base)
    defer { try? FileManager.default.removeItem(at: cost.folder) }
    // First, because the later measurements allocate memory.
    try await cost.measureStreaming()
    try await cost.measureCalls()
    for entries in [1_000, 100_000] { try await cost.measureAmong(entries) }
    return cost
  }

  private init(base: URL) { self.base = base }

  private func manager(_ cache: HTTPCache?, _ session: (any URLSessionProtocol)? = nil) -> NetworkManager {
    let manager =
      session.map { NetworkManager(baseURL: base, session: $0) }
      ?? NetworkManager(baseURL: base, session: URLSession(configuration: .ephemeral))
    manager.httpCache = cache
    return manager
  }

  private mutating func measureStreaming() async throws {
    let manager = manager(HTTPCache(memoryCapacity: 0, directory: folder, diskCapacity: 8 << 30))
    func stream(_ mode: CacheMode) async throws -> Int {
      var count = 0
      for try await chunk in try await manager.stream(Cached(path: "/gib", cacheMode: mode)).body {
        count += chunk.count
      }
      return count
    }
    _ = try await stream(.forceCache)
    let start = Measurement.Start()
    let measured = start.measured(try await stream(.onlyIfCached))
    (streaming, streamingGrowth) = (measured.perSecond / 1e6, measured.growthMegabytes)
    await manager.httpCache?.removeAll()
  }

  private mutating func measureCalls() async throws {
    let path = "/item.json"
    let (plain, cached) = (manager(nil), manager(HTTPCache()))
    send = try await time(4_000) { _ in _ = try await plain.send(Cached(path: path)) }
    sendPastCache = try await time(4_000) { _ in _ = try await cached.send(Cached(path: path, cacheMode: .noStore)) }
    memoryHit = try await time(40_000) { _ in _ = try await cached.send(Cached(path: path)) }
    let onDisk = manager(HTTPCache(memoryCapacity: 0, directory: folder))
    diskHit = try await time(10_000) { _ in _ = try await onDisk.send(Cached(path: path)) }
    let body = Data(#"{"id":12345,"name":"a teapot of fine porc","price":12.50}"#.utf8)
    let decoder = JSONDecoder()
    decode = try await time(40_000) { _ in _ = try decoder.decode(Item.self, from: body) }
  }

  private mutating func measureAmong(_ entries: Int) async throws {
    let session = Instant(Data(#"{"id":12345,"name":"a teapot of fine porc","price":12.50}"#.utf8))
    // One manager, because each custom session has its own partition of the cache.
    let manager = manager(nil, session)
    func fill(_ cache: HTTPCache) async throws -> Double {
      manager.httpCache = cache
      return try await time(entries) { _ = try await manager.send(Cached(path: "/\($0)", cacheMode: .reload)) }
    }
    func hit(_ cache: HTTPCache, _ count: Int) async throws -> Double {
      manager.httpCache = cache
      return try await time(count) { _ in
        _ = try await manager.send(Cached(path: "/\(Int.random(in: 0..<entries))", cacheMode: .onlyIfCached))
      }
    }
    let inMemory = HTTPCache(memoryCapacity: 1 << 30)
    memoryInsertAmong[entries] = try await fill(inMemory)
    memoryHitAmong[entries] = try await hit(inMemory, 40_000)
    func onDisk() -> HTTPCache { HTTPCache(memoryCapacity: 0, directory: folder, diskCapacity: 8 << 30) }
    diskInsertAmong[entries] = try await fill(onDisk())
    diskHitAmong[entries] = try await hit(onDisk(), 10_000)
    opening = try await hit(onDisk(), 1) / 1000
  }

  private func time(_ count: Int, _ call: (Int) async throws -> Void) async throws -> Double {
    let start = ContinuousClock.now
    for index in 0..<count { try await call(index) }
    return (ContinuousClock.now - start) / .microseconds(count)
  }
}
