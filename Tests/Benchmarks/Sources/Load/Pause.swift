import EKNetwork

/// A consumer that takes one chunk of a body and then no more: how much of the rest does the process take in?
struct Pause {
  struct Report: Encodable {
    var growthMegabytes: Double
  }

  let url: URL

  func run(seconds: Double) async throws -> Report {
    let base = URL(string: "/", relativeTo: url)?.absoluteURL ?? url
    let manager = NetworkManager(baseURL: base, session: URLSession(configuration: .ephemeral))
    // What is made with the first request is no growth.
    for try await _ in try await manager.stream(Get(path: "/item.json")).chunks {}
    let before = Measurement.megabytes("VmRSS:")
    for try await _ in try await manager.stream(Get(path: url.path)).chunks {
      try await Task.sleep(for: .seconds(seconds))
      break
    }
    // The most there ever was, although something may have been given back.
    return Report(growthMegabytes: Measurement.peakMegabytes - before)
  }
}
