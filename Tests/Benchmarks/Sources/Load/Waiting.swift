import EKNetwork

/// Measures the cost of waiting for requests without a response. The process exits with them in flight.
struct Waiting {
  struct Report: Encodable {
    /// The CPU time as a percentage of one core.
    var cpuPercent: Double
    var descriptors: Int
    var peakMegabytes: Double
  }

  let url: URL

  func run(width: Int, seconds: Double) async throws -> Report {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = width
    let manager = NetworkManager(baseURL: url, session: URLSession(configuration: configuration))
    for _ in 0..<width { Task { try await manager.send(Get(path: "/")) } }
    try await Task.sleep(for: .seconds(3))
    let before = Measurement.cpuSeconds
    try await Task.sleep(for: .seconds(seconds))
    return Report(
      cpuPercent: (Measurement.cpuSeconds - before) / seconds * 100,
      descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
      peakMegabytes: Measurement.peakMegabytes)
  }
}

/// Measures the memory of streams on which nothing arrives after the first event. They are opened one after the other, as
/// clients do: many handshakes at once would need memory of their own. The process exits with them open.
struct IdleStreams {
  let url: URL
  /// Whether they are subscriptions of server-sent events, which reconnect; otherwise the chunks of responses.
  let areEvents: Bool

  /// Returns the number of KiB for each stream.
  func run(width: Int) async throws -> Double {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = .max
    let manager = NetworkManager(baseURL: url, session: URLSession(configuration: configuration))
    let (opened, continuation) = AsyncStream.makeStream(of: Void.self)
    var iterator = opened.makeAsyncIterator()
    func open(_ count: Int) async {
      for _ in 0..<count {
        Task.detached {
          if areEvents {
            for try await _ in manager.events(Get(path: "/")) { continuation.yield() }
          } else {
            for try await _ in try await manager.stream(Get(path: "/")).chunks { continuation.yield() }
          }
        }
        await iterator.next()
      }
    }
    await open(100)
    let before = Measurement.megabytes("VmRSS:")
    await open(width)
    return (Measurement.megabytes("VmRSS:") - before) * 1024 / Double(width)
  }
}
