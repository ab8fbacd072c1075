import EKNetwork

/// Sends a number of concurrent requests, each on its own connection if the server accepts it, and counts the outcomes.
struct Burst {
  struct Report: Encodable {
    var served = 0
    /// The numbers of failures, by `URLError` code.
    var failed: [Int: Int] = [:]
    /// The number of errors of any other kind.
    var wrong = 0
    var seconds = 0.0
    var peakMegabytes = 0.0
  }

  let url: URL

  func run(width: Int) async -> Report {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = width
    let base = URL(string: "/", relativeTo: url)?.absoluteURL ?? url
    let manager = NetworkManager(baseURL: base, session: URLSession(configuration: configuration))
    let request = Get(path: url.path)
    let start = ContinuousClock.now
    var report = await withTaskGroup(of: (any Error)?.self) { group in
      for _ in 0..<width {
        group.addTask {
          do {
            _ = try await manager.send(request)
            return nil
          } catch { return error }
        }
      }
      var report = Report()
      for await error in group {
        switch error {
        case nil: report.served += 1
        case let error as URLError: report.failed[error.code.rawValue, default: 0] += 1
        default: report.wrong += 1
        }
      }
      return report
    }
    report.seconds = (ContinuousClock.now - start) / .seconds(1)
    report.peakMegabytes = Measurement.peakMegabytes
    return report
  }
}
