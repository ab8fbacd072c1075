import Foundation

/// Runs one contender under one load, in its own process: `Load CONTENDER SCENARIO URL WIDTH SECONDS [CA.pem]`.
///
/// Several URLs, separated by commas, get the same number of tasks each. Prints one line of JSON: units per second
/// (requests, round trips or bytes), CPU microseconds per unit, and the peak of the process's resident memory in MiB.
@main struct Load {
  static func main() async throws {
    let arguments = CommandLine.arguments
    let urls = arguments.dropFirst(3).first?.split(separator: ",").compactMap { URL(string: String($0)) } ?? []
    guard arguments.count >= 6, let url = urls.first, let width = Int(arguments[4]),
      let seconds = Double(arguments[5])
    else {
      FileHandle.standardError.write(Data("Load CONTENDER SCENARIO URL WIDTH SECONDS [CA.pem]\n".utf8))
      exit(64)
    }
    // Otherwise the last argument is the file of a transfer.
    let isSecure = url.scheme == "https" || url.scheme == "wss"
    let authorities = isSecure && arguments.count > 6 ? URL(fileURLWithPath: arguments[6]) : nil
    if arguments[2] == "echo" || arguments[2] == "receive" {
      let load = SocketLoad(contender: arguments[1], url: url, authorities: authorities)
      return try await load.run(arguments[2], width: width, seconds: seconds).report()
    }
    let contenders = urls.map { url -> any Contender in
      switch arguments[1] {
      case "async-http-client": AsyncHTTPClientContender(url: url, authorities: authorities)
      case "urlsession": URLSessionContender(url: url)
      default: EKNetworkContender(url: url, authorities: authorities)
      }
    }
    switch arguments[2] {
    case "get":
      let get: @Sendable (Int) async throws -> Int = { task in
        guard try await contenders[task % contenders.count].get().id > 0 else { throw URLError(.cannotParseResponse) }
        return 1
      }
      try await SteadyLoad().measure(width: width, seconds: seconds, get).report()
    case "stream":
      _ = try await contenders[0].stream()
      try await measure(width: width, seconds: seconds) { _ in try await contenders[0].stream() }.report()
    case "soak":
      let report = await Soak(url: url, authorities: authorities).run(width: width, seconds: seconds)
      print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    case "upload", "form", "sequence", "download":
      let transfers = Transfers(url: url, file: URL(fileURLWithPath: arguments.last ?? ""))
      try await transfers.run(arguments[2], count: width)?.report()
    case "burst":
      print(String(decoding: try JSONEncoder().encode(await Burst(url: url).run(width: width)), as: UTF8.self))
    case "waiting":
      let report = try await Waiting(url: url).run(width: width, seconds: seconds)
      print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    case "idle-chunks", "idle-events":
      let streams = IdleStreams(url: url, areEvents: arguments[2] == "idle-events")
      let report = ["kibibytes": try await streams.run(width: width)]
      print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    case "latency":
      print(String(decoding: try JSONEncoder().encode(try await Latency(url: url).run()), as: UTF8.self))
    case "pause":
      let pause = Pause(url: url, width: width, authorities: authorities)
      print(String(decoding: try JSONEncoder().encode(try await pause.run(seconds: seconds)), as: UTF8.self))
    case "httpcache":
      print(String(decoding: try JSONEncoder().encode(try await HTTPCacheCost.measure(url)), as: UTF8.self))
    case "cache":
      let cost = await CacheCost.measure(entries: width)
      print(String(decoding: try JSONEncoder().encode(cost), as: UTF8.self))
    case let parsing:
      let measured = try await Parsing(rawValue: parsing)?.measure(seconds: seconds)
      try measured?.report()
    }
  }

  /// Runs `body` repeatedly in `width` tasks until the time has elapsed.
  static func measure(
    width: Int, seconds: Double, _ body: @escaping @Sendable (_ task: Int) async throws -> Int
  ) async throws -> Measurement {
    let end = ContinuousClock.now + .seconds(seconds)
    let start = Measurement.Start()
    let units = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<width {
        group.addTask {
          var units = 0
          repeat { units += try await body(task) } while .now < end
          return units
        }
      }
      return try await group.reduce(0, +)
    }
    return start.measured(units)
  }
}
