import EKNetwork

/// Measures how much of a body the process buffers when its consumer reads one chunk and then stops.
struct Pause {
  struct Report: Encodable {
    var growthMegabytes: Double
  }

  let url: URL

  func run(seconds: Double) async throws -> Report {
    let base = URL(string: "/", relativeTo: url)?.absoluteURL ?? url
    let manager = NetworkManager(baseURL: base, session: URLSession(configuration: .ephemeral))
    // Allocations of the first request do not count as growth.
    for try await _ in try await manager.stream(Get(path: "/item.json")).chunks {}
    let before = Measurement.megabytes("VmRSS:")
    for try await _ in try await manager.stream(Get(path: url.path)).chunks {
      try await Task.sleep(for: .seconds(seconds))
      break
    }
    // The peak, although some of it may have been freed.
    return Report(growthMegabytes: Measurement.peakMegabytes - before)
  }
}
