import EKNetwork
import Foundation

/// Fills the directory of a cache until it is killed: `CacheStress URL DIRECTORY fill`; or checks its entries:
/// `CacheStress URL DIRECTORY verify`, which prints the number of responses found, and how many of them are wrong.
///
/// The server sends a checksum of each body in `X-Check`. A stored response with a different checksum was not
/// completely written.
@main struct CacheStress {
  private static let paths = 40

  private struct Probe: NetworkRequest {
    struct Response: Decodable {
      var isRight: Bool
    }

    var path: String
    var cacheMode: CacheMode
    var method: HTTPMethod { .get }

    func decodeResponse(data: Data, response: URLResponse) throws -> Response {
      let check = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Check")
      return Response(isRight: check == "\(data.count)-\(adler32(data))")
    }
  }

  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let url = URL(string: arguments[1]) else { exit(64) }
    let manager = NetworkManager(baseURL: url, session: URLSession(configuration: .ephemeral))
    let cache = HTTPCache(
      memoryCapacity: 0, directory: URL(fileURLWithPath: arguments[2]), diskCapacity: 4_000_000)
    manager.httpCache = cache
    guard arguments[3] == "fill" else { return await verify(manager, cache) }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          while true {
            let mode: CacheMode = Bool.random() ? .reload : .default
            let response = try? await manager.send(Probe(path: "/\(Int.random(in: 0..<paths))", cacheMode: mode))
            if response?.isRight == false { exit(1) }
            say("wrote")
          }
        }
      }
    }
  }

  private static func verify(_ manager: NetworkManager, _ cache: HTTPCache) async {
    // A wrong digest does not result in a wrong response: it shows a file that was visible before it was complete.
    cache.storageFailureHandler = { say("failed \($0.operation) \($0.path) \($0.code)") }
    var (hits, wrong) = (0, 0)
    for number in 0..<paths {
      guard let response = try? await manager.send(Probe(path: "/\(number)", cacheMode: .onlyIfCached)) else {
        continue
      }
      hits += 1
      if !response.isRight { wrong += 1 }
    }
    say("found \(hits) \(wrong)")
  }

  /// Prints a line in one write, so that the script never reads a partial line.
  private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  /// Returns the Adler-32 checksum (RFC 1950 §8).
  private static func adler32(_ data: Data) -> UInt32 {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in data {
      low = (low + UInt32(byte)) % 65521
      high = (high + low) % 65521
    }
    return high << 16 | low
  }
}
