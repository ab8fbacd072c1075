import EKNetwork

/// Sends mixed requests for a given time, many of them cancelled at random moments, and checks for leaks.
struct Soak {
  private struct Get: NetworkRequest {
    typealias Response = Item
    var path: String
    var method = HTTPMethod.get
    var body: RequestBody?
  }

  private enum Outcome: Hashable, Sendable {
    case answered, refused, cancelled, wrong
  }

  struct Report: Encodable {
    var requests = 0
    var answered = 0
    var refused = 0
    var cancelled = 0
    var wrong = 0
    var growthMegabytes = 0.0
    var descriptorsLeft = 0
    var threadsLeft = 0
  }

  private let manager: NetworkManager
  private let url: URL

  init(url: URL, authorities: URL?) {
    self.url = url
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 64
    manager = NetworkManager(
      baseURL: url, session: URLSession(configuration: configuration),
      transport: authorities.map { .secured(by: TLSOptions(certificateAuthorityFile: $0)) } ?? .automatic)
  }

  func run(width: Int, seconds: Double) async -> Report {
    // One-time allocations, such as connection and memory pools, do not count as growth.
    _ = await load(width: width, seconds: max(2, seconds / 5))
    let before = Self.process
    let found = await load(width: width, seconds: seconds)
    let after = Self.process
    return Report(
      requests: found.values.reduce(0, +), answered: found[.answered] ?? 0, refused: found[.refused] ?? 0,
      cancelled: found[.cancelled] ?? 0, wrong: found[.wrong] ?? 0,
      growthMegabytes: after.megabytes - before.megabytes, descriptorsLeft: after.descriptors - before.descriptors,
      threadsLeft: after.threads - before.threads)
  }

  private func load(width: Int, seconds: Double) async -> [Outcome: Int] {
    let end = ContinuousClock.now + .seconds(seconds)
    return await withTaskGroup(of: [Outcome: Int].self) { group in
      for _ in 0..<width {
        group.addTask {
          var found: [Outcome: Int] = [:]
          repeat { found[await one(), default: 0] += 1 } while .now < end
          return found
        }
      }
      return await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    }
  }

  private func one() async -> Outcome {
    let kind = Int.random(in: 0..<8)
    let task = Task { try await send(kind) }
    if Int.random(in: 0..<4) == 0 {
      for _ in 0..<Int.random(in: 0..<4) { await Task.yield() }
      if Bool.random() { try? await Task.sleep(for: .microseconds(Int.random(in: 0..<2_000))) }
      task.cancel()
    }
    do {
      try await task.value
      return .answered
    } catch is CancellationError {
      return task.isCancelled ? .cancelled : .wrong
    } catch is HTTPError {
      return kind >= 6 ? .refused : .wrong
    } catch {
      return .wrong
    }
  }

  private func send(_ kind: Int) async throws {
    switch kind {
    case 0:
      // A stream that is abandoned after its first chunk.
      for try await _ in try await manager.stream(Get(path: "large")).chunks { break }
    case 1: for try await _ in try await manager.stream(Get(path: "item.json")).chunks {}
    case 6: _ = try await manager.send(Get(path: "missing"))
    case 7:
      let body = RequestBody(data: Data(count: 100_000), contentType: "application/octet-stream")
      _ = try await manager.send(Get(path: "item.json", method: .post, body: body))
    default: _ = try await manager.send(Get(path: "item.json"))
    }
  }

  private static var process: (megabytes: Double, descriptors: Int, threads: Int) {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    func value(_ name: String) -> Double {
      let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
      return line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Double($0) } ?? 0
    }
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    return (value("VmRSS:") / 1024, descriptors, Int(value("Threads:")))
  }
}
