import EKNetwork

/// Measures how much the process buffers of the bodies of responses that nobody reads.
struct Pause {
  struct Report: Encodable {
    var growthMegabytes: Double
  }

  let url: URL
  let width: Int
  let authorities: URL?

  func run(seconds: Double) async throws -> Report {
    let base = URL(string: "/", relativeTo: url)?.absoluteURL ?? url
    let session = URLSession(configuration: .ephemeral)
    let manager =
      authorities.map {
        NetworkManager(
          baseURL: base, session: session, transport: .secured(by: TLSOptions(certificateAuthorityFile: $0)))
      } ?? NetworkManager(baseURL: base, session: session)
    // Allocations of the first request do not count as growth.
    for try await _ in try await manager.stream(Get(path: "/item.json")).chunks {}
    let before = Measurement.megabytes("VmRSS:")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<width {
        group.addTask {
          let stream = try await manager.stream(Get(path: url.path))
          try await Task.sleep(for: .seconds(seconds))
          withExtendedLifetime(stream) {}
        }
      }
      try await group.waitForAll()
    }
    // The peak, although some of it may have been freed.
    return Report(growthMegabytes: Measurement.peakMegabytes - before)
  }
}
