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
