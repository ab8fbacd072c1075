import EKNetwork

/// Measures the age of events on arrival. Each contains its send time by the system's monotonic clock.
struct Latency {
  struct Report: Encodable {
    var median: Double
    var percentile99: Double
    var count: Int
  }

  let url: URL

  /// Returns the ages in milliseconds.
  func run() async throws -> Report {
    let manager = NetworkManager(baseURL: url, session: URLSession(configuration: .ephemeral))
    var ages: [Double] = []
    for try await event in try await manager.stream(Get(path: "/")).events() {
      guard let sent = UInt64(event.data) else { throw URLError(.cannotParseResponse) }
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      let received = UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
      ages.append(Double(received - min(received, sent)) / 1e6)
    }
    ages.sort()
    guard !ages.isEmpty else { throw URLError(.zeroByteResource) }
    return Report(median: ages[ages.count / 2], percentile99: ages[ages.count * 99 / 100], count: ages.count)
  }
}
