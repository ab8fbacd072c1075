import EKNetwork
import Foundation

/// Runs the public test suite for HTTP caches against ``HTTPCache``: `CacheConformance URL SUITE RESULTS`, where URL is
/// that of the suite's server, SUITE its `suite.json`, and RESULTS the file to write, in the suite's format.
@main struct CacheConformance {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let url = URL(string: arguments[1]) else {
      print("usage: CacheConformance URL SUITE RESULTS")
      exit(2)
    }
    let suites = try JSONDecoder().decode(JSON.self, from: Data(contentsOf: URL(fileURLWithPath: arguments[2])))
    // Only the tests that apply to browsers, like the reference client.
    let tests = suites.array.flatMap { $0["tests"]?.array ?? [] }
      .filter { $0["cdn_only"]?.isTrue != true && $0["browser_skip"]?.isTrue != true }
    let client = Client(url, cache: HTTPCache())
    var results: [String: JSON] = [:]
    for start in stride(from: 0, to: tests.count, by: 50) {
      try await withThrowingTaskGroup(of: (String, JSON).self) { group in
        for test in tests[start..<min(start + 50, tests.count)] {
          group.addTask {
            let run = SuiteTest(test: test, client: client)
            return (run.name, await run.result())
          }
        }
        for try await (name, result) in group { results[name] = result }
      }
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(results).write(to: URL(fileURLWithPath: arguments[3]))
  }
}

/// One test: a sequence of requests.
struct SuiteTest: Sendable {
  let test: JSON
  let client: Client

  var name: String { test["id"]?.string ?? "" }

  /// Runs the test; returns `true`, or a description of the failure.
  func result() async -> JSON {
    do {
      try await run()
      return .bool(true)
    } catch let failure as Failure {
      return .array([.string(failure.name), .string(failure.message)])
    } catch {
      return .array([.string("TypeError"), .string("\(type(of: error)): \(error.localizedDescription)")])
    }
  }

  private func run() async throws {
    let identifier = UUID().uuidString.lowercased()
    let configs = (test["requests"]?.array ?? []).map { config -> JSON in
      guard case .object(var members) = config else { return config }
      members["name"] = test["name"]
      members["id"] = test["id"]
      return .object(members)
    }
    try await client.put(.array(configs), as: identifier)
    var responses: [SuiteResponse] = []
    for (index, config) in configs.enumerated() {
      let response = try await client.send(try request(config, index, identifier))
      responses.append(response)
      try ResponseCheck(config: config, number: index + 1, identifier: identifier).check(response)
      if config["pause_after"]?.isTrue == true { try await Task.sleep(for: .seconds(3)) }
    }
    let state = try await client.state(of: identifier)
    try ServerCheck(identifier: identifier, configs: configs, responses: responses, state: state).check()
  }

  private func request(_ config: JSON, _ index: Int, _ identifier: String) throws -> SuiteRequest {
    // Not needed here: the tests that use them are for shared caches.
    for member in ["magic_ims", "mode", "credentials"] where config[member] != nil {
      throw Failure.setup("\(member) is not supported")
    }
    var headers = ["Test-ID": name, "Req-Num": "\(index + 1)"]
    headers["Test-Name"] = config["name"]?.string?.filter(\.isASCII)
    for field in config["request_headers"]?.array ?? [] {
      guard let name = field[0]?.string, let value = field[1]?.string else { throw Failure.setup("No such field") }
      // Joins repeated fields like `Headers` of Fetch.
      headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }
    var request = SuiteRequest(path: "/test/\(identifier)", headers: headers)
    if let file = config["filename"]?.string { request.path += "/\(file)" }
    if let query = config["query_arg"]?.string {
      let parts = query.split(separator: "=", maxSplits: 1).map(String.init)
      request.queryParameters = [parts[0]: parts.count > 1 ? parts[1] : ""]
    }
    request.methodName = config["request_method"]?.string ?? "GET"
    request.content = config["request_body"]?.string
    switch config["cache"]?.string {
    case nil: break
    case "no-cache": request.cacheMode = .noCache
    case let mode?: throw Failure.setup("The mode \(mode) is not supported")
    }
    return request
  }
}
